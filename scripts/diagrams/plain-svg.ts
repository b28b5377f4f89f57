/**
 * Runs in the page that draws. It is text, because Node's types have no `document`.
 *
 * Mermaid's picture depends on a large style sheet inside it. This writes the computed style of each part to the part itself and
 * removes the rest. The result has a tenth of the size, and nothing that a strict policy would have to allow. Each line of text
 * gets its width, because a reader may have other fonts than the machine that drew it.
 */
export const PLAIN_SVG = `async ({ source, theme, hash, title }) => {
  mermaid.initialize(theme)
  const { svg } = await mermaid.render('drawn', source)
  document.body.innerHTML = svg
  await document.fonts.ready
  const drawn = document.querySelector('svg')
  const SVG = 'http://www.w3.org/2000/svg'
  const APPEARANCE = {
    fill: 'rgb(0, 0, 0)', stroke: 'none', 'stroke-width': '1px', 'stroke-dasharray': 'none', 'stroke-linecap': 'butt',
    'stroke-linejoin': 'miter', opacity: '1', 'fill-opacity': '1', 'text-anchor': 'start', 'dominant-baseline': 'auto',
    'font-weight': '400', 'font-style': 'normal',
  }
  const SHAPE = ['d', 'x', 'y', 'x1', 'y1', 'x2', 'y2', 'cx', 'cy', 'r', 'rx', 'ry', 'width', 'height', 'points', 'dx', 'dy',
    'transform', 'marker-start', 'marker-end', 'viewBox', 'refX', 'refY', 'markerWidth', 'markerHeight', 'markerUnits',
    'orient', 'preserveAspectRatio']
  const KEPT = new Set(['g', 'path', 'rect', 'circle', 'ellipse', 'line', 'polygon', 'polyline', 'text', 'tspan', 'marker', 'defs'])
  const TEXT = new Set(['font-weight', 'font-style', 'text-anchor', 'dominant-baseline'])
  const round = (value) => value.replace(/-?\\d+\\.\\d+/g, (number) => String(Math.round(Number(number) * 10) / 10))
  const rgb = (value) => value.replace(/rgb\\((\\d+), (\\d+), (\\d+)\\)/g, (_, ...parts) =>
    '#' + parts.slice(0, 3).map((part) => Number(part).toString(16).padStart(2, '0')).join(''))
  const size = (element) => getComputedStyle(element).fontSize
  const isSeen = (element) => {
    const style = getComputedStyle(element)
    return style.display !== 'none' && style.visibility !== 'hidden'
  }
  const used = new Set([...drawn.querySelectorAll('*')].flatMap((element) =>
    ['marker-start', 'marker-end'].flatMap((name) => /#([^)"]+)/.exec(element.getAttribute(name) ?? '')?.[1] ?? [])))
  const names = new Map([...used].map((name, index) => [name, 'm' + index]))
  const copy = (element) => {
    const tag = element.localName
    if (!KEPT.has(tag) || (tag !== 'defs' && tag !== 'marker' && !element.closest('marker') && !isSeen(element))) return null
    if (tag === 'rect' && Number(element.getAttribute('width') ?? 0) === 0) return null
    if (tag === 'marker' && !used.has(element.id)) return null
    const made = document.createElementNS(SVG, tag)
    for (const name of SHAPE) {
      let value = element.getAttribute(name)
      if (value === null || value === '') continue
      const reference = /#([^)"]+)/.exec(value)?.[1]
      if (reference && names.has(reference)) value = 'url(#' + names.get(reference) + ')'
      else if (name !== 'orient') value = round(value)
      made.setAttribute(name, value)
    }
    if (tag === 'marker') made.setAttribute('id', names.get(element.id))
    const isGroup = tag === 'g' || tag === 'defs' || tag === 'marker'
    const isText = tag === 'text' || tag === 'tspan'
    if (!isGroup) {
      const style = getComputedStyle(element)
      for (const [name, usual] of Object.entries(APPEARANCE)) {
        const value = style.getPropertyValue(name)
        // Text on a line must be readable, so the line must not show through it.
        if (name === 'opacity' && element.closest('.edgeLabel')) continue
        const belongs = isText ? TEXT.has(name) || name === 'fill' : !TEXT.has(name)
        // Groups keep no style, so only the text around a part can pass styles on to it.
        const handedDown = tag === 'tspan' ? getComputedStyle(element.parentElement).getPropertyValue(name) : usual
        const isNew = value !== handedDown
        if (belongs && isNew && !(name.startsWith('stroke-') && style.stroke === 'none') && !/^0px, 0px/.test(value)) made.setAttribute(name, rgb(value))
      }
      if (tag === 'text') made.setAttribute('font-size', size(element))
      if (tag === 'tspan' && size(element) !== size(element.parentElement)) made.setAttribute('font-size', size(element))
    }
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE) {
        if (isText && child.textContent !== '') made.append(child.textContent)
      } else if (child.nodeType === Node.ELEMENT_NODE) {
        const below = copy(child)
        if (below) made.append(below)
      }
    }
    if (isText && element.childElementCount === 0 && element.textContent.trim() !== '') {
      made.setAttribute('textLength', round(String(element.getComputedTextLength().toFixed(2))))
      made.setAttribute('lengthAdjust', 'spacingAndGlyphs')
    }
    if ((isGroup || isText) && made.childNodes.length === 0) return null
    if (tag === 'g' && made.attributes.length === 0 && made.childElementCount === 1) return made.firstElementChild
    return made
  }
  const box = drawn.viewBox.baseVal
  // Without HTML labels, Mermaid puts the names of states at the left of their boxes.
  drawn.style.maxWidth = 'none'
  drawn.setAttribute('width', box.width)
  for (const node of drawn.querySelectorAll('.statediagram-state')) {
    const [frame, label] = ['.label-container', 'text'].map((part) => node.querySelector(part)?.getBoundingClientRect())
    if (!frame || !label) continue
    const aside = (frame.left + frame.right - label.left - label.right) / 2
    if (Math.abs(aside) > 1) node.querySelector('text').setAttribute('transform', 'translate(' + aside + ', 0)')
  }
  const result = document.createElementNS(SVG, 'svg')
  const [left, top, width, height] = [box.x, box.y, box.width, box.height].map((value) => Math.round(value * 10) / 10)
  result.setAttribute('viewBox', [left, top, width, height].join(' '))
  result.setAttribute('width', Math.ceil(width))
  result.setAttribute('height', Math.ceil(height))
  result.setAttribute('font-family', getComputedStyle(drawn).fontFamily.replaceAll('"', "'"))
  result.setAttribute('data-source', hash)
  result.setAttribute('role', 'img')
  const named = document.createElementNS(SVG, 'title')
  named.textContent = title
  result.append(named)
  for (const child of drawn.children) {
    const below = copy(child)
    if (below) result.append(below)
  }
  return new XMLSerializer().serializeToString(result)
}`
