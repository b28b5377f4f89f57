import { allowOnly, asObject, asString, checkFile, type Json, type Surroundings } from './check-send.ts'
import { GraphError, required, wrong } from './graph-error.ts'
import type { SentMedia, SimulatedTemplate } from './simulator-types.ts'

const LONGEST_PARAMETER = 1_024
const MEDIA_HEADERS = ['image', 'document', 'video'] as const
const HEADER_FIELDS = { image: ['id', 'link'], video: ['id', 'link'], document: ['id', 'link', 'filename'] } as const

/** Checks a template message, and returns what the phone shows. */
export function checkTemplate(part: Json, around: Surroundings): { text: string; media: SentMedia | null } {
  allowOnly(part, ['name', 'language', 'components'], 'template')
  const name = asString(part['name'], "template['name']", 512)
  const language = asObject(part['language'], "template['language']")
  allowOnly(language, ['code', 'policy'], "template['language']")
  const code = asString(language['code'], "template['language']['code']", 20)
  const template = findTranslation(around.findTemplates(name), name, code)
  const components = readComponents(part['components'])
  const media = checkHeader(template, components.header, around)
  const header =
    template.header === 'TEXT'
      ? fill(template, template.headerText ?? '', { parameters: components.header, where: 'header' })
      : ''
  const body = fill(template, template.body, { parameters: components.body, where: 'body' })
  return { text: [header, body, template.footer ?? ''].filter((line) => line !== '').join('\n'), media }
}

function findTranslation(named: readonly SimulatedTemplate[], name: string, code: string): SimulatedTemplate {
  const template = named.find(({ language }) => language === code)
  const status = template?.status ?? 'APPROVED'
  if (!template || status === 'PENDING' || status === 'REJECTED') {
    throw new GraphError(132001, { details: `template name (${name}) does not exist in ${code}` })
  }
  if (status === 'PAUSED') throw new GraphError(132015, { details: `template (${name}) is paused` })
  if (status === 'DISABLED') throw new GraphError(132016, { details: `template (${name}) is disabled` })
  return template
}

interface Components {
  readonly header: readonly Json[]
  readonly body: readonly Json[]
}

function readComponents(given: unknown): Components {
  if (given === undefined) return { header: [], body: [] }
  if (!Array.isArray(given)) throw wrong("Param template['components'] must be an array.")
  const found: Record<string, Json[]> = { header: [], body: [] }
  for (const [place, one] of given.entries()) {
    const name = `template['components'][${place}]`
    const component = asObject(one, name)
    allowOnly(component, ['type', 'parameters'], name)
    const type = component['type']
    if (type !== 'header' && type !== 'body') throw wrong(`Param ${name}['type'] must be one of {header, body}.`)
    const parameters = component['parameters'] ?? []
    if (!Array.isArray(parameters)) throw wrong(`Param ${name}['parameters'] must be an array.`)
    found[type]?.push(...parameters.map((parameter, at) => asObject(parameter, `${name}['parameters'][${at}]`)))
  }
  return { header: found['header'] ?? [], body: found['body'] ?? [] }
}

function checkHeader(template: SimulatedTemplate, parameters: readonly Json[], around: Surroundings): SentMedia | null {
  const kind = MEDIA_HEADERS.find((one) => one.toUpperCase() === template.header)
  const [first] = parameters
  if (!kind) {
    if (template.header === undefined && first)
      throw mismatch(`header: Format mismatch, expected no header, received ${first['type']}`)
    return null
  }
  if (!first) throw mismatch(`header: Format mismatch, expected ${kind.toUpperCase()}, received UNKNOWN`)
  if (first['type'] !== kind) {
    throw mismatch(
      `header: Format mismatch, expected ${kind.toUpperCase()}, received ${String(first['type']).toUpperCase()}`,
    )
  }
  if (parameters.length > 1) throw wrongCount('header', parameters.length, 1)
  const name = `template['components']['header'][0]['${kind}']`
  const file = asObject(first[kind], name)
  allowOnly(file, HEADER_FIELDS[kind], name)
  return { ...checkFile(kind, file, { around, name }), isVoice: false }
}

const mismatch = (details: string) => new GraphError(132012, { details })

function wrongCount(where: string, given: number, expected: number): GraphError {
  return new GraphError(132000, {
    details: `${where}: number of localizable_params (${given}) does not match the expected number of params (${expected})`,
  })
}

function fill(
  { hasNamedParameters }: SimulatedTemplate,
  text: string,
  { parameters, where }: { parameters: readonly Json[]; where: string },
): string {
  const names = [...new Set([...text.matchAll(/\{\{(\w+)\}\}/g)].map(([, name]) => name ?? ''))]
  if (parameters.length !== names.length) throw wrongCount(where, parameters.length, names.length)
  const values = new Map<string, string>()
  for (const [place, parameter] of parameters.entries()) {
    const name = hasNamedParameters ? asString(parameter['parameter_name'], 'parameter_name', 256) : String(place + 1)
    values.set(name, checkParameter(parameter, where))
  }
  const missing = names.find((name) => !values.has(name))
  if (missing !== undefined) throw required(`parameter_name ${missing}`)
  return text.replace(/\{\{(\w+)\}\}/g, (_, name: string) => values.get(name) ?? '')
}

function checkParameter(parameter: Json, where: string): string {
  if (parameter['type'] !== 'text')
    throw mismatch(`${where}: Format mismatch, expected TEXT, received ${String(parameter['type']).toUpperCase()}`)
  const text = asString(parameter['text'], `${where} text`, Number.POSITIVE_INFINITY)
  if (/[\n\r\t\u2028\u2029]| {5}/.test(text)) {
    throw new GraphError(132018, {
      details: 'Param text cannot have new-line/tab characters or more than 4 consecutive spaces',
    })
  }
  if (Array.from(text).length > LONGEST_PARAMETER) {
    throw new GraphError(132005, { details: `${where}: text of more than ${LONGEST_PARAMETER} characters` })
  }
  return text
}
