import fc from 'fast-check'
import { type ApiDocument, operationOf, resolve, type Schema } from './api-document.ts'
import { Validators } from './validators.ts'

export interface Made {
  /** What was broken, and where; empty for a good request. */
  readonly what: string
  readonly body: unknown
}

/** What the document cannot know: a connected number. */
export interface Caller {
  readonly from: string
}

const SEED = 20_261_122
const ODD = [null, 7, true, [], {}, 'text', ['x'], { x: 1 }]
// Changes to a text. Whatever a pattern forbids, some of these break it.
const SPOILERS = [
  (text: string) => `+${text}`,
  (text: string) => `${text} `,
  (text: string) => `0${text}`,
  (text: string) => `${text}\u0007`,
  (text: string) => `a/${text}`,
  (text: string) => `${text}\\`,
  (text: string) => text.replaceAll('.', ''),
  (text: string) => text.replace('://', ':'),
  (text: string) => text.replace('https', 'ftp'),
  () => ' ',
  () => '\t\n',
  () => 'x'.repeat(20),
]

/** Creates requests from the schemas alone. */
export class RequestMaker {
  readonly #document: ApiDocument
  readonly #validators: Validators
  readonly #caller: Caller
  readonly #schema: Schema

  constructor(document: ApiDocument, caller: Caller) {
    this.#document = document
    this.#caller = caller
    this.#validators = new Validators(document)
    this.#schema = operationOf(document).post.requestBody.content['application/json']?.schema ?? {}
  }

  good(count: number): Made[] {
    return fc
      .sample(this.#arbitrary(this.#schema), { numRuns: count, seed: SEED })
      .map((body) => ({ what: '', body: { ...(body as object), from: this.#caller.from } }))
  }

  /** The examples of the document, with the caller's number as the sender. */
  examples(): Made[] {
    const { content } = operationOf(this.#document).post.requestBody
    return Object.values(content['application/json']?.examples ?? {}).map(({ value }) => ({
      what: '',
      body: { ...(value as object), from: this.#caller.from },
    }))
  }

  /** Requests that each break one rule of one field, in every shape that a request can have. */
  bad(): Made[] {
    const whole = ODD.filter((value) => this.#isBad(value)).map((body) => ({ what: 'the body', body }))
    return [...whole, ...this.examples().flatMap(({ body }) => this.#broken(body, this.#schema, ''))]
  }

  #broken(value: unknown, schema: Schema, path: string): Made[] {
    const spoilt = this.#spoilt(value, this.#branch(schema, value), path)
    return spoilt.filter(({ body }) => path !== '' || this.#isBad(body))
  }

  /** All ways to break this value or a value inside it. */
  #spoilt(value: unknown, schema: Schema, path: string): Made[] {
    if (!schema.properties || typeof value !== 'object' || value === null) return []
    const fields = value as Readonly<Record<string, unknown>>
    const missing = (schema.required ?? []).map((name) => {
      const { [name]: _, ...body } = fields
      return { what: `${path}${name} missing`, body }
    })
    const changed = Object.entries(schema.properties).flatMap(([name, below]) => {
      const put = (what: string, inside: unknown) => ({ what, body: { ...fields, [name]: inside } })
      const at = `${path}${name}`
      const resolved = this.#branch(below, fields[name])
      return [
        ...this.#replacements(resolved, fields[name]).map((spoiler) => put(`${at}: ${clip(spoiler)}`, spoiler)),
        ...this.#spoilt(fields[name], resolved, `${at}.`).map(({ what, body }) => put(what, body)),
      ]
    })
    return [...missing, ...changed]
  }

  /** Values to replace a good one with. Some of them may be valid as well. */
  #replacements(schema: Schema, good: unknown): unknown[] {
    const text =
      typeof good === 'string' ? good : (schema.examples?.find((example) => typeof example === 'string') ?? 'text')
    const { minLength = 0, maxLength } = schema
    return [
      ...ODD,
      ...(schema.pattern === undefined && !schema.enum ? [] : SPOILERS.map((spoil) => spoil(text))),
      ...(minLength > 0 ? [text.slice(0, minLength - 1)] : []),
      ...(maxLength === undefined ? [] : [text.padEnd(maxLength + 1, 'a'), `${'a'.repeat(maxLength)}${text}`]),
      ...(schema.format === 'uri' ? ['https://', 'https://[', 'https://files.example.com:port/a', 'files/a.pdf'] : []),
    ]
  }

  #isBad(body: unknown): boolean {
    return this.#validators.errors(this.#schema, body).length > 0
  }

  /** Resolves a reference. If the schema has several branches, returns the one that this value matches. */
  #branch(schema: Schema, value: unknown): Schema {
    const target = schema.$ref === undefined ? schema : resolve<Schema>(this.#document, schema)
    if (!target.oneOf) return target
    const meant = target.oneOf.find((one) => this.#validators.errors(one, value).length === 0)
    return meant ? this.#branch(meant, value) : target
  }

  #arbitrary(schema: Schema): fc.Arbitrary<unknown> {
    if (schema.$ref !== undefined) return this.#arbitrary(resolve<Schema>(this.#document, schema))
    if (schema.oneOf) return fc.oneof(...schema.oneOf.map((one) => this.#arbitrary(one)))
    if ('const' in schema) return fc.constant(schema.const)
    if (schema.enum) return fc.constantFrom(...schema.enum)
    if (schema.properties) {
      const fields = Object.entries(schema.properties).map(([name, below]) => [name, this.#arbitrary(below)] as const)
      // What the document does not forbid is allowed, unknown fields included.
      const unknown = { 'x-unknown': fc.oneof(fc.string({ unit: 'grapheme' }), fc.integer(), fc.constant(null)) }
      const all: Record<string, fc.Arbitrary<unknown>> = { ...Object.fromEntries(fields), ...unknown }
      return fc.record(all, { requiredKeys: [...(schema.required ?? [])] })
    }
    const ofText = this.#textArbitrary(schema)
    return Array.isArray(schema.type) && schema.type.includes('null') ? fc.option(ofText, { nil: null }) : ofText
  }

  #textArbitrary(schema: Schema): fc.Arbitrary<string> {
    const { minLength = 0, maxLength = 200, pattern, examples, format } = schema
    const fits = (text: string) => this.#validators.errors(schema, text).length === 0
    if (format === 'uri') {
      // No schema can say whether an address is public, so the host is that of the example.
      const { origin } = new URL(String(examples?.[0]))
      return fc
        .webPath()
        .map((path) => `${origin}${path}`)
        .filter(fits)
    }
    const longest = 'a'.repeat(maxLength)
    const any = fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 100) })
    const known = fc.constantFrom(...[...(examples ?? ['text']), longest].map(String).filter(fits))
    const matching = pattern === undefined ? any : fc.stringMatching(new RegExp(pattern))
    return fc.oneof(
      { arbitrary: known, weight: 1 },
      { arbitrary: any.filter(fits), weight: pattern?.includes('\\.') || /\[0-9\]/.test(pattern ?? '') ? 0 : 2 },
      { arbitrary: matching.filter(fits), weight: 3 },
    )
  }
}

function clip(value: unknown): string {
  return (JSON.stringify(value) ?? 'nothing').slice(0, 40)
}
