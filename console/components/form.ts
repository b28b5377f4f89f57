import { schemaResolver, type UseFormReturnType, useForm } from '@mantine/form'
import { type ReactNode, useState } from 'react'
import type { z } from 'zod'
import { CallProblem } from '../api/call-problem.ts'

type Form<Values extends Record<string, unknown>> = UseFormReturnType<Values> & {
  /** A problem that belongs to no single field: show it in a `ProblemNote` above the button. */
  readonly problem: Error | null
  /** Shows the server's errors at their fields, and focuses the first one. Pass it any caught error. */
  readonly takeProblem: (problem: unknown) => void
}

/**
 * A form with the rules of the contract: the shape of the route's body. Use `<form noValidate onSubmit={form.onSubmit(…)}>`
 * and `{...form.getInputProps('name')}`. Field names are those of the body. The submit handler may return a promise: until it
 * settles `form.submitting` is true, and its rejection is shown as a problem.
 */
export function useFormOf<Shape extends z.ZodType<Record<string, unknown>, Record<string, unknown>>>(
  shape: Shape,
  initialValues: z.input<Shape>,
): Form<z.input<Shape>> {
  return useRuledForm(schemaResolver(shape, { sync: true }), initialValues)
}

type Rules<Values> = (values: Values) => Readonly<Record<string, ReactNode>>

/** The same without a shape, for pages that do not load zod. `findFaults` returns the faults by the names of their fields. */
export function useRuledForm<Values extends Record<string, unknown>>(
  findFaults: Rules<Values>,
  initialValues: Values,
): Form<Values> {
  const [problem, setProblem] = useState<Error | null>(null)
  const form = useForm<Values>({
    mode: 'controlled',
    initialValues,
    validate: findFaults,
    validateInputOnBlur: false,
    clearInputErrorOnChange: true,
    onSubmitPreventDefault: 'always',
  })
  const takeProblem = (caught: unknown) => {
    const known = caught instanceof Error ? caught : new Error(String(caught))
    const fields = known instanceof CallProblem ? known.fields : []
    form.setErrors(Object.fromEntries(fields.map(({ field, message }) => [field, message])))
    const first = fields[0]?.field
    if (first !== undefined) focusField(form.getInputNode(first))
    const isShownAtFields = fields.length > 0 && fields.every(({ field }) => form.getInputNode(field) !== null)
    setProblem(isShownAtFields ? null : known)
  }
  const onSubmit: typeof form.onSubmit = (handle, handleFailure) => {
    const send: typeof handle = (values, event) => {
      const sent = handle(values, event)
      return sent instanceof Promise ? sent.catch(takeProblem) : sent
    }
    const submit = form.onSubmit(send, (errors, values, event) => {
      const [first] = Object.keys(errors)
      if (first !== undefined) focusField(form.getInputNode(first))
      handleFailure?.(errors, values, event)
    })
    return (event) => {
      setProblem(null)
      submit(event)
    }
  }
  return { ...form, onSubmit, problem, takeProblem }
}

function focusField(node: HTMLElement | null): void {
  // After the errors are rendered, so that a screen reader finds the error of the field.
  setTimeout(() => node?.focus())
}
