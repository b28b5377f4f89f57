import { type ApiDocument, type Header, operationOf, type Response, resolve } from './api-document.ts'
import { Validators } from './validators.ts'

export interface Replied {
  readonly status: number
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  readonly text: string
}

// Headers that every HTTP server sends. They are not part of the interface.
const OF_HTTP =
  /^(?:content-|connection$|date$|cache-control$|keep-alive$|transfer-encoding$|x-content-type-options$|vary$)/

/** Compares replies with a document. */
export class ReplyChecker {
  readonly #document: ApiDocument
  readonly #validators: Validators

  constructor(document: ApiDocument) {
    this.#document = document
    this.#validators = new Validators(document)
  }

  /** The differences between a reply and the document; empty if they agree. */
  check(reply: Replied): string[] {
    const { post } = operationOf(this.#document)
    const response = post.responses[String(reply.status)]
    if (!response) return [`The document knows no status ${reply.status}`]
    const found = [...this.#checkHeaders(response, reply), ...this.#checkBody(response, reply)]
    return found.map((words) => `${reply.status}: ${words}`)
  }

  #checkHeaders(response: Response, { headers }: Replied): string[] {
    const names = new Set(Object.keys(response.headers).map((name) => name.toLowerCase()))
    const wrong = Object.entries(response.headers).flatMap(([name, reference]) => {
      const { required, schema } = resolve<Header>(this.#document, reference)
      const value = headers[name.toLowerCase()]
      if (value === undefined) return required ? [`the header ${name} is missing`] : []
      const parsed = schema.type === 'integer' ? Number(value) : value
      const errors = this.#validators.errors(schema, parsed)
      return errors.map(({ message }) => `the header ${name} is ${value}: ${message}`)
    })
    const unknown = Object.keys(headers).filter((name) => !names.has(name) && !OF_HTTP.test(name))
    return [...wrong, ...unknown.map((name) => `the document knows no header ${name}`)]
  }

  #checkBody(response: Response, { headers, text }: Replied): string[] {
    const [type = ''] = (headers['content-type'] ?? '').split(';')
    const described = response.content[type]
    if (!described) return [`the document knows no content of type ${type}`]
    const body = JSON.parse(text) as { readonly data?: { readonly errors?: readonly { readonly code: string }[] } }
    const wrong = this.#validators
      .errors(described.schema, body)
      .map(({ instancePath, message }) => `the body at ${instancePath} ${message}`)
    const unknown = (body.data?.errors ?? [])
      .filter(({ code }) => !(code in described.examples))
      .map(({ code }) => `the document has no example of ${code}`)
    return [...wrong, ...unknown]
  }
}
