import type { RequestFilter } from '../../../core/ports/administration.ts'

/** What is looked for in both halves of the API log. */
export interface WantedRequests extends Omit<RequestFilter, 'limit'> {
  readonly requestId: string | null
}
