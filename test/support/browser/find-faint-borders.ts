import type { Page } from '@playwright/test'

/**
 * Fields, checkboxes, radio buttons and switches whose border has a contrast below 3 to its surroundings (WCAG 1.4.11), one line
 * each. Axe does not check this. Checked or focused controls are left out: the mark or the focus ring shows them.
 */
export function findFaintBorders(page: Page): Promise<string[]> {
  return page.evaluate<string[]>(FAINT_BORDERS)
}

// This is text because it runs in the browser, whose names Node's types do not have.
const FAINT_BORDERS = `(() => {
  const parts = (colour) => colour.match(/[\\d.]+/g).map(Number)
  const luminance = (colour) => {
    const [red, green, blue] = parts(colour).map((part) => part / 255)
      .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const groundOf = (element) => {
    const colour = getComputedStyle(element).backgroundColor
    return (parts(colour)[3] ?? 1) === 1 || !element.parentElement ? colour : groundOf(element.parentElement)
  }
  const contrast = (one, other) => {
    const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b)
    return (light + 0.05) / (dark + 0.05)
  }
  const shown = [...document.querySelectorAll(
    'input.mantine-Checkbox-input, input.mantine-Radio-radio, .mantine-Switch-input + .mantine-Switch-track, .mantine-Input-input',
  )]
  return shown.flatMap((element) => {
    const field = element.matches('.mantine-Switch-track') ? element.previousElementSibling : element
    if (!element.checkVisibility() || field.checked || 'indeterminate' in field.dataset || field.disabled || element.contains(document.activeElement)) return []
    const { borderTopColor, borderTopWidth, boxShadow } = getComputedStyle(element)
    const border = borderTopWidth === '0px' ? (/rgba?\\([^)]*\\)/.exec(boxShadow) ?? ['rgba(0, 0, 0, 0)'])[0] : borderTopColor
    const ground = groundOf(element.parentElement)
    const ratio = contrast(border, ground)
    return ratio >= 3 ? [] : [\`\${element.className}: border \${border} on \${ground} has \${ratio.toFixed(1)} : 1\`]
  })
})()`
