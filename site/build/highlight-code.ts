import highlight from 'highlight.js/lib/core'
import bash from 'highlight.js/lib/languages/bash'
import dockerfile from 'highlight.js/lib/languages/dockerfile'
import go from 'highlight.js/lib/languages/go'
import ini from 'highlight.js/lib/languages/ini'
import json from 'highlight.js/lib/languages/json'
import nginx from 'highlight.js/lib/languages/nginx'
import php from 'highlight.js/lib/languages/php'
import python from 'highlight.js/lib/languages/python'
import sql from 'highlight.js/lib/languages/sql'
import typescript from 'highlight.js/lib/languages/typescript'
import yaml from 'highlight.js/lib/languages/yaml'
import { escapeHtml } from './escape-html.ts'

// The languages in our pages; others are shown without colours.
const LANGUAGES = { sh: bash, dockerfile, go, ini, json, nginx, php, python, sql, ts: typescript, yaml }
for (const [name, language] of Object.entries(LANGUAGES)) highlight.registerLanguage(name, language)

/** The HTML of a program, its parts in spans whose classes the stylesheet colours. */
export function highlightCode(text: string, language: string): string {
  if (highlight.getLanguage(language) === undefined) return escapeHtml(text)
  return highlight.highlight(text, { language }).value
}
