import highlighter from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import javascript from 'highlight.js/lib/languages/javascript'
import json from 'highlight.js/lib/languages/json'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'

const LANGUAGES = { bash, javascript, json, php, python }

/** HTML with the escaped text of `code` and tags around its parts. */
export function highlight(code: string, language: keyof typeof LANGUAGES): string {
  if (!highlighter.getLanguage(language)) highlighter.registerLanguage(language, LANGUAGES[language])
  return highlighter.highlight(code, { language, ignoreIllegals: true }).value
}
