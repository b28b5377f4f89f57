import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import type { ApiDocument, Schema } from './api-document.ts'

// The package is a CommonJS module. Node's default import is the function itself, which its types do not say.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void

/** Validates values by the schemas of a document. */
export class Validators {
  readonly #ajv: Ajv2020
  readonly #compiled = new WeakMap<Schema, ValidateFunction>()

  constructor(document: ApiDocument) {
    // The document holds keywords that are not of JSON Schema, which strict mode would refuse.
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, discriminator: false })
    addFormats(this.#ajv)
    this.#ajv.addSchema(document, 'document')
  }

  /** The faults of a value; empty if it is valid. */
  errors(schema: Schema, value: unknown): readonly ErrorObject[] {
    // Keep compiled schemas: compiling one takes far longer than validating a value.
    const validate = this.#compiled.get(schema) ?? this.#ajv.compile(absolute(schema))
    this.#compiled.set(schema, validate)
    return validate(value) ? [] : (validate.errors ?? [])
  }
}

/** Makes the references in a schema valid outside of the document. */
function absolute(schema: Schema): Schema {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')
  return JSON.parse(text) as Schema
}
