import { z } from 'zod'
import { findOneLineFault, type OneLineRule } from '../../format/one-line.ts'

export function oneLine(rule: OneLineRule) {
  return z
    .string()
    .trim()
    .check((context) => {
      const message = findOneLineFault(context.value, rule)
      if (message !== null) context.issues.push({ code: 'custom', input: context.value, message })
    })
}
