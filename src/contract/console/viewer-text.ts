import { z } from 'zod'

/**
 * How a text of a reply is shown to viewers, who may see the results of messages but neither recipients nor contents. The
 * server masks every reply by these forms, in one place.
 */
type ViewerForm = 'whole' | 'number' | 'words' | 'url' | 'file-name' | 'message-type' | 'body' | 'absent'

/** Every text of a reply for viewers has one. */
const viewerForms = z.registry<{ readonly form: ViewerForm }>()

function textAs(form: ViewerForm): z.ZodString {
  return z.string().register(viewerForms, { form })
}

/** Whole: a name, an id, or a text of Nuncio that quotes no message. */
export const plain = textAs('whole')
/** A number that may be a recipient's: the middle digits are hidden. */
export const maskedNumber = textAs('number')
/** A text of a network or a server: numbers in it are masked. */
export const maskedText = textAs('words')
/** Only scheme and host stay. */
export const maskedUrl = textAs('url')
/** Only the extension stays. */
export const maskedFileName = textAs('file-name')
/** A known type; any other value of a caller is hidden. */
export const maskedType = textAs('message-type')
/** The body of a request: known fields stay, their texts are hidden. */
export const maskedBody = textAs('body')

/** Null for viewers. */
export function notForViewers<Schema extends z.ZodType>(schema: Schema): z.ZodNullable<Schema> {
  const nullable = schema.nullable()
  viewerForms.add(nullable, { form: 'absent' })
  return nullable
}

/** The masking function of each form. */
export type Masks = Readonly<Record<Exclude<ViewerForm, 'absent'>, (text: string) => string>>

/** The shape of a reply. */
export type Shape<Value> = z.ZodType<Value>

type Mask = (value: never) => unknown

/**
 * Masks values by their shape. Only fields of the shape are kept, with each text in its form. Throws for a text without a
 * form, which is a fault.
 */
export function maskingOf(masks: Masks): <Value>(shape: Shape<Value>, value: Value) => Value {
  const known = new WeakMap<z.core.$ZodType, Mask>()
  const maskOf = (schema: z.core.$ZodType): Mask => {
    const mask = known.get(schema) ?? createMask(schema, masks, maskOf)
    known.set(schema, mask)
    return mask
  }
  return <Value>(shape: Shape<Value>, value: Value) => maskOf(shape)(value as never) as Value
}

function createMask(schema: z.core.$ZodType, masks: Masks, maskOf: (inner: z.core.$ZodType) => Mask): Mask {
  const form = viewerForms.get(schema)?.form
  if (form === 'absent') return () => null
  if (schema instanceof z.ZodString && form !== undefined) return masks[form]
  if (schema instanceof z.ZodNullable) {
    const inner = maskOf(schema.unwrap())
    return (value: unknown) => (value === null ? null : inner(value as never))
  }
  if (schema instanceof z.ZodArray) {
    const item = maskOf(schema.element)
    return (values: readonly unknown[]) => values.map((value) => item(value as never))
  }
  if (schema instanceof z.ZodObject) {
    const fields = Object.entries<z.core.$ZodType>(schema.shape).map(([name, field]) => [name, maskOf(field)] as const)
    return (value: Readonly<Record<string, unknown>>) =>
      Object.fromEntries(fields.map(([name, mask]) => [name, mask(value[name] as never)]))
  }
  const isPlain = [z.ZodNumber, z.ZodBoolean, z.ZodEnum, z.ZodLiteral].some((kind) => schema instanceof kind)
  if (isPlain) return (value: unknown) => value
  throw new Error(`A reply that viewers get holds a ${schema._zod.def.type} without a form of viewer-text.ts`)
}
