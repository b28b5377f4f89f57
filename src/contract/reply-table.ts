/**
 * Every reply of the send endpoint. Refusals of the HTTP parser have their own status (408, 431 …) and the code HC-2,
 * because they are invalid requests, too.
 */
export const REPLIES = {
  success: {
    status: 200,
    code: 'HC-1',
    name: 'success_200',
    message: 'Request was successful.',
    when: 'The message is committed to durable storage and waits in the queue of its sender number.',
  },
  bad_request: {
    status: 400,
    code: 'HC-2',
    name: 'bad_request_400',
    message: 'The request is not valid. See data.errors.',
    when: 'Anything is wrong with the request. All errors of its fields are reported together.',
  },
  unauthorized: {
    status: 401,
    code: 'HC-3',
    name: 'unauthorized_401',
    message: 'The API token is not valid.',
    when: 'No token, an unknown, deleted or expired one, or two of them: one answer for all.',
  },
  access_denied: {
    status: 403,
    code: 'HC-4',
    name: 'access_denied_403',
    message: 'The API token does not permit this.',
    when: 'The token lacks the event Messaging > Send Message, or is bound to other numbers or network addresses.',
  },
  connection_not_found: {
    status: 404,
    code: 'HC-5',
    name: 'connection_not_found_404',
    message: 'The connection was not found.',
    when: 'The `from` number is no connection of the account.',
  },
  route_not_found: {
    status: 404,
    code: 'HC-6',
    name: 'route_not_found_404',
    message: 'There is nothing at this path and method.',
    when: 'Any other path or method under /chat/api/.',
  },
  too_many_requests: {
    status: 429,
    code: 'HC-7',
    name: 'too_many_requests_429',
    message: 'Too many requests. Send again after the time in Retry-After.',
    when: 'The account sends faster than it may, or as many messages wait as may.',
  },
  internal_error: {
    status: 500,
    code: 'HC-8',
    name: 'internal_error_500',
    message: 'Something went wrong on our side.',
    when: 'A fault of the service. The request id finds it in the log.',
  },
  unavailable: {
    status: 503,
    code: 'HC-9',
    name: 'unavailable_503',
    message: 'The service cannot take messages right now. See data.errors before you send again.',
    when: 'Storage cannot commit, or the service is shutting down. `not_accepted`: safe to send again. `commit_unknown`: send again with the same Idempotency-Key.',
  },
} as const

type ReplyKind = keyof typeof REPLIES
export type RefusalReplyKind = Exclude<ReplyKind, 'success'>
