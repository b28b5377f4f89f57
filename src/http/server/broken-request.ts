import { type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { refusalBody } from '../../contract/replies.ts'
import { type Problem, problem } from './problem.ts'
import { replyOf } from './refusal-replies.ts'
import { JSON_TYPE, latestContext } from './request-context.ts'
import type { ServerState } from './server-state.ts'

const BROKEN = Symbol('broken')
type Breakable = Socket & { [BROKEN]?: true }

/**
 * Answers what Node's parser refuses: bytes that are no request, and requests that stop in the middle. The error
 * belongs to the request that is being read; complete requests before it get their own replies first.
 */
export function answerBrokenRequest(state: ServerState, error: Error, socket: Breakable): void {
  // Node reports an error again for everything else that arrives on the broken connection.
  if (socket[BROKEN]) return
  socket[BROKEN] = true

  const cause = causeOf(error)
  const latest = latestContext(socket)
  if (latest && !latest.request.complete) {
    if (!latest.isReplied) latest.abort(cause)
    // It was answered before its body came. The caller would read a second reply as that of its next request.
    whenSent(latest.response, () => socket.destroySoon())
    if (!socket.writable) socket.destroy()
  } else if (latest) {
    whenSent(latest.response, () => refuseAndEnd(state, socket, cause))
  } else {
    refuseAndEnd(state, socket, cause)
  }
}

function whenSent(response: ServerResponse, call: () => void): void {
  if (response.writableFinished || response.destroyed) call()
  else response.once('close', call)
}

/** For bytes that never became a request, so there is no response object. */
function refuseAndEnd(state: ServerState, socket: Socket, cause: Problem): void {
  if (!socket.writable) {
    socket.destroy()
    return
  }
  const { kind, status } = replyOf(cause.code)
  const body = JSON.stringify(refusalBody(kind, [cause]))
  const lines = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
    `content-type: ${JSON_TYPE}`,
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${state.nextRequestId()}`,
    `date: ${new Date(state.clock.now()).toUTCString()}`,
    'connection: close',
  ]
  socket.end(`${lines.join('\r\n')}\r\n\r\n${body}`)
  const stopWaiting = state.clock.after(state.limits.lingerMs, () => socket.destroy())
  socket.once('close', stopWaiting)
  state.observer.replied(status, cause.code, 0)
}

function causeOf(error: Error & { readonly code?: string; readonly reason?: string }): Problem {
  switch (error.code) {
    case 'HPE_HEADER_OVERFLOW':
      return problem('headers_too_large')
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return problem('request_too_slow')
    case 'HPE_INVALID_EOF_STATE':
    case 'ECONNRESET':
    case 'EPIPE':
      return problem('malformed_request', null, 'The connection ended before the whole request had arrived.')
    default:
      return problem('malformed_request', null, error.reason ? `The HTTP request is malformed: ${error.reason}.` : null)
  }
}
