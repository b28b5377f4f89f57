/**
 * The parts of an OpenAPI document that are read, as any tool reads them. Nothing here knows the sources it was generated from.
 */
export interface ApiDocument {
  readonly openapi: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly paths: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly headers: Readonly<Record<string, Header>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly securitySchemes: Readonly<Record<string, { readonly in: string; readonly name: string }>>
  }
}

export interface Operation {
  readonly operationId: string
  readonly parameters: readonly Reference[]
  readonly requestBody: { readonly content: Content }
  readonly responses: Readonly<Record<string, Response>>
}

export interface Response {
  readonly headers: Readonly<Record<string, Reference>>
  readonly content: Content
}

type Content = Readonly<
  Record<string, { readonly schema: Schema; readonly examples: Readonly<Record<string, { readonly value: unknown }>> }>
>

interface Reference {
  readonly $ref: string
}

export interface Header {
  readonly required: boolean
  readonly schema: Schema
}

export interface Parameter extends Header {
  readonly name: string
  readonly in: string
}

export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly pattern?: string
  readonly format?: string
  readonly minLength?: number
  readonly maxLength?: number
  readonly examples?: readonly unknown[]
}

/** The one operation of the document, and its path. */
export function operationOf(document: ApiDocument): { readonly path: string; readonly post: Operation } {
  const [first, ...others] = Object.entries(document.paths)
  if (!first || others.length > 0) throw new Error('The document has not just one operation')
  const [path, { post }] = first
  return { path, post }
}

export function resolve<Target>(document: ApiDocument, { $ref }: { readonly $ref?: string | undefined }): Target {
  let found: unknown = document
  for (const step of ($ref ?? '').replace(/^#\//, '').split('/')) {
    found = (found as Readonly<Record<string, unknown>> | undefined)?.[step]
  }
  if (found === undefined) throw new Error(`The document refers to ${$ref}, which is not in it`)
  return found as Target
}
