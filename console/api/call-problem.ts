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
