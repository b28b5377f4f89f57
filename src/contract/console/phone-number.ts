import { z } from 'zod'
import { checkNumber, plainNumber } from '../field-rules.ts'

/** A phone number in a form. It may be written as people write it: `+1 555 000 1001`. */
export const phoneNumber = z
  .string()
  .overwrite(plainNumber)
  .superRefine((value, context) => {
    const finding = checkNumber(value)
    if (finding) context.addIssue({ code: 'custom', message: finding.message.replaceAll('`', '') })
  })
