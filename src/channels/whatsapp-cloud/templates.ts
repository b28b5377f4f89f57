import type { MessageContent } from '../../core/message/message.ts'
import { type NamedTemplate, type NamedTemplates, templateKindOf, templateSetting } from './settings.ts'

/** Most characters of one variable (Meta's page “Template components”). */
const MOST_VARIABLE = 1_024

/** Why a message cannot go as a template, each with what to do about it (core/reasons.ts). */
type NoFit =
  | 'whatsapp_131047'
  | 'template_cannot_hold_text'
  | 'template_none_for_audio'
  | 'template_without_text'
  | 'template_wants_text'

/** How a message can go as a template. */
export type TemplateFit =
  | {
      readonly fits: true
      readonly template: NamedTemplate
      /** What goes into the one variable of its body; null when it has none. */
      readonly variable: string | null
    }
  | { readonly fits: false; readonly code: NoFit; readonly words: string }

/** Decides whether one of the named templates carries this message, unaltered. Pure. */
export function fitTemplate(content: MessageContent, templates: NamedTemplates): TemplateFit {
  const kind = templateKindOf(content.type)
  if (!kind) return noFit('template_none_for_audio', 'a template cannot carry a sound')
  const template = templates[kind]
  if (!template) return noFit('whatsapp_131047', `the connection names no ${templateSetting(kind)}`)
  const text = content.type === 'message' ? content.text : content.caption
  if (template.bodyVariables === 0) {
    if (text === null) return { fits: true, template, variable: null }
    return noFit('template_without_text', `the template ${template.name} has no place for a text`)
  }
  if (text === null)
    return noFit('template_wants_text', `the template ${template.name} needs a text, and the message has none`)
  const why = whyNotVariable(text)
  return why === null ? { fits: true, template, variable: text } : noFit('template_cannot_hold_text', why)
}

/** Null when the text can be a variable of a template (Meta's pages “Error codes”, 132018, and “Template components”). */
function whyNotVariable(text: string): string | null {
  if (/[\n\r\t\u2028\u2029]/.test(text)) return 'a variable of a template holds no line breaks and no tabs'
  if (/ {5}/.test(text)) return 'a variable of a template holds at most 4 blanks in a row'
  const length = Array.from(text).length
  if (length > MOST_VARIABLE)
    return `a variable of a template holds at most ${MOST_VARIABLE} characters, and the text has ${length}`
  return null
}

function noFit(code: NoFit, words: string): TemplateFit {
  return { fits: false, code, words }
}
