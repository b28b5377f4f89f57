import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { InterimReplies } from './interim-replies.ts'

const BODY = 'HTTP/1.1 100 Continue\r\n\r\n'
const ANSWER = `HTTP/1.1 200 OK\r\nx: HTTP/1.1 100\r\n\r\n${BODY}`

function passed(answers: readonly string[], pieceLength: number): string {
  const interim = new InterimReplies()
  let text = ''
  for (const answer of answers) {
    interim.expectAnswer()
    for (let at = 0; at < answer.length; at += pieceLength) {
      const piece = Buffer.from(answer.slice(at, at + pieceLength))
      interim.pass(piece)
      text += piece.toString()
    }
  }
  return text
}

describe('bytes that come in over a connection', () => {
  it.each([1, 2, 3, 11, 12, 13, 1_000])('have 102 for each interim 100, in pieces of %i bytes', (pieceLength) => {
    const [before, after] = ['100 Continue', '102 Continue'].map(
      (status) => `HTTP/1.1 ${status}\r\nx: y\r\n\r\nHTTP/1.1 103 Hints\r\n\r\nHTTP/1.0 ${status}\r\n\r\n${ANSWER}`,
    ) as [string, string]

    // Twice: the second answer comes on the same connection.
    assert.equal(passed([before, before], pieceLength), after + after)
  })

  it.each(['HTTP/1.1 101 Switching\r\n\r\nHTTP/', ANSWER, 'SSH-2.0 100\r\n\r\n', 'HTTP/2 100\r\n\r\n'])(
    'are as they were otherwise: %j',
    (text) => {
      assert.equal(passed([text], 7), text)
    },
  )
})
