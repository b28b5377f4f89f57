import { commandLine } from '../../core/command-line.ts'
import type { TemplateView } from '../../core/ports/channel-onboarding.ts'
import { memberOf } from './outcome.ts'
import { type NamedTemplate, TEMPLATE_KINDS, type TemplateKind, templateSetting } from './settings.ts'

/** What of a template decides whether it can carry messages of ours. */
interface ReadTemplate {
  readonly name: string
  readonly language: string
  readonly status: string
  readonly category: string
  readonly header: string | null
  readonly headerText: string
  readonly body: string
  readonly isNamed: boolean
  readonly hasOtherParts: boolean
}

/** A template as Meta's API describes it (its page “Template components”). Null when it is not even that. */
export function readTemplateView(source: unknown): TemplateView | null {
  const template = readTemplate(source)
  if (!template) return null
  const { name, language, status, category, header, body } = template
  const kind = kindOf(template)
  const why = kind ? whyNot(template, kind) : 'its header is none that a message of ours could fill'
  return {
    name,
    language,
    status,
    category,
    header,
    body,
    fits: kind && why === null ? templateSetting(kind) : null,
    why,
  }
}

/**
 * The template that a setting names, with the number of its variables; otherwise a sentence that says why it cannot be used.
 */
export function findNamed(
  kind: TemplateKind,
  wanted: Pick<NamedTemplate, 'name' | 'language'>,
  templates: readonly TemplateView[],
): NamedTemplate | string {
  const { name, language } = wanted
  const title = `The template ${name}:${language}`
  const named = templates.filter((template) => template.name === name)
  const found = named.find((template) => template.language === language)
  if (!found) {
    const languages = named.map((template) => template.language).join(', ')
    return languages === ''
      ? `The business account has no template ${name}; ${commandLine`connection templates`} lists what there is.`
      : `The template ${name} is not there in ${language}, only in ${languages}.`
  }
  if (found.why !== null) return `${title} cannot be used: ${found.why}.`
  const setting = templateSetting(kind)
  if (found.fits !== null && found.fits !== setting)
    return `${title} fits ${found.fits} and not ${setting}: it has another header.`
  return { name, language, bodyVariables: variablesOf(found.body).length === 0 ? 0 : 1 }
}

function readTemplate(source: unknown): ReadTemplate | null {
  const [name, language, status] = ['name', 'language', 'status'].map((key) => textOf(source, key))
  if (!name || !language || !status) return null
  const components = memberOf(source, 'components')
  const all: readonly unknown[] = Array.isArray(components) ? components : []
  const header = all.find((part) => textOf(part, 'type') === 'HEADER')
  const body = all.find((part) => textOf(part, 'type') === 'BODY')
  return {
    name,
    language,
    status,
    category: textOf(source, 'category'),
    header: header === undefined ? null : textOf(header, 'format').toLowerCase(),
    headerText: textOf(header, 'text'),
    body: textOf(body, 'text'),
    isNamed: textOf(source, 'parameter_format') === 'NAMED',
    hasOtherParts: all.some((part) => asksForMore(part)),
  }
}

function kindOf({ header }: ReadTemplate): TemplateKind | null {
  if (header === null || header === 'text') return 'text'
  return TEMPLATE_KINDS.find((kind) => kind === header) ?? null
}

/** Null when it can carry messages of this kind. */
function whyNot(template: ReadTemplate, kind: TemplateKind): string | null {
  if (template.status !== 'APPROVED') return `Meta has it as ${template.status} and not as APPROVED`
  if (template.category === 'AUTHENTICATION') return 'it is for codes, and carries nothing else'
  if (variablesOf(template.headerText).length > 0) return 'its header has a variable'
  if (template.hasOtherParts) return 'it has parts besides header, body and footer that need to be filled'
  const count = variablesOf(template.body).length
  if (count > 1) return `its body has ${count} variables, and one is all that a message fills`
  if (count === 0) return kind === 'text' ? 'its body has no variable that could hold a text' : null
  return template.isNamed ? 'its variable has a name; it must be {{1}}' : null
}

/** The names of the variables, each once. */
function variablesOf(text: string): readonly string[] {
  return [...new Set([...text.matchAll(/\{\{\s*(\w+)\s*\}\}/g)].map(([, name = '']) => name))]
}

const PLAIN_PARTS = ['HEADER', 'BODY', 'FOOTER']
const PLAIN_BUTTONS = ['QUICK_REPLY', 'PHONE_NUMBER', 'URL', 'VOICE_CALL']

/** Buttons with a fixed text need no value. */
function asksForMore(part: unknown): boolean {
  const type = textOf(part, 'type')
  if (PLAIN_PARTS.includes(type)) return false
  const buttons = memberOf(part, 'buttons')
  if (type !== 'BUTTONS' || !Array.isArray(buttons)) return true
  return buttons.some(
    (button) => !PLAIN_BUTTONS.includes(textOf(button, 'type')) || variablesOf(textOf(button, 'url')).length > 0,
  )
}

function textOf(value: unknown, name: string): string {
  const text = memberOf(value, name)
  return typeof text === 'string' ? text : ''
}
