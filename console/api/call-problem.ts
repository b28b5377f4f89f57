import { withoutMarks } from '../components/without-marks.ts'

interface Given {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly fields?: readonly { readonly field: string; readonly message: string }[]
  readonly requestId?: string | null
  readonly cause?: unknown
}

/** The error of a failed call. Its message is one sentence for people. */
export class CallProblem extends Error {
  /** 0: the server was not reached. */
  readonly status: number
  readonly code: string
  readonly fields: readonly { readonly field: string; readonly message: string }[]
  readonly requestId: string | null

  constructor({ status, code, message, fields = [], requestId = null, cause }: Given) {
    super(withoutMarks(message), { cause })
    this.name = 'CallProblem'
    this.status = status
    this.code = code
    this.fields = fields.map((one) => ({ ...one, message: withoutMarks(one.message) }))
    this.requestId = requestId
  }
}

/** The service may answer the same call in a moment. */
export function isPassing(error: Error): boolean {
  return error instanceof CallProblem && (error.status === 0 || error.status >= 502)
}

/** Nothing answers, or a proxy says so. What the service itself refuses, or takes too long for, is another matter. */
export function isAway(error: Error): boolean {
  if (!(error instanceof CallProblem)) return false
  return error.status === 0 || (error.code === 'unexpected_reply' && (error.status === 502 || error.status === 503))
}
