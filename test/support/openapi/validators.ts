import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormatsModule from 'ajv-formats'
import type { ApiDocument, Schema } from './api-document.ts'

// It is published in the older form of modules, which Node shows with its default inside.
const addFormats = addFormatsModule as unknown as (ajv: Ajv2020) => void

/** Validates values by the schemas of a document. */
export class Validators {
  readonly #ajv: Ajv2020
  readonly #compiled = new WeakMap<Schema, ValidateFunction>()

  constructor(document: ApiDocument) {
    // The document holds more than schemas, whose words are none of the validator's.
    this.#ajv = new Ajv2020({ strict: false, allErrors: true, discriminator: false })
    addFormats(this.#ajv)
    this.#ajv.addSchema(document, 'document')
  }

  /** What is wrong with a value; empty: nothing. */
  errors(schema: Schema, value: unknown): readonly ErrorObject[] {
    // A schema takes far longer to compile than a value to validate.
    const validate = this.#compiled.get(schema) ?? this.#ajv.compile(absolute(schema))
    this.#compiled.set(schema, validate)
    return validate(value) ? [] : (validate.errors ?? [])
  }
}

/** Makes references inside a document valid outside of it. */
function absolute(schema: Schema): Schema {
  const text = JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/')
  return JSON.parse(text) as Schema
}
