import assert from 'node:assert/strict'
import { describe, it } from 'vitest'
import { refusalBody, refusalResponse, sendMessageResponse, successBody } from './replies.ts'
import { REPLIES } from './reply-table.ts'

describe('the replies', () => {
  it('succeed with the body that callers know, byte for byte', () => {
    assert.equal(
      JSON.stringify(successBody('QUEUED')),
      '{"success":true,"code":"HC-1","name":"success_200","data":{"state":"QUEUED"},"message":"Request was successful."}',
    )
    assert.equal(sendMessageResponse.safeParse(successBody('PUBLISHED')).success, true)
  })

  it('have the codes and names of the contract', () => {
    assert.deepEqual(
      Object.values(REPLIES).map(({ status, code, name }) => [status, code, name]),
      [
        [200, 'HC-1', 'success_200'],
        [400, 'HC-2', 'bad_request_400'],
        [401, 'HC-3', 'unauthorized_401'],
        [403, 'HC-4', 'access_denied_403'],
        [404, 'HC-5', 'connection_not_found_404'],
        [404, 'HC-6', 'route_not_found_404'],
        [429, 'HC-7', 'too_many_requests_429'],
        [500, 'HC-8', 'internal_error_500'],
        [503, 'HC-9', 'unavailable_503'],
      ],
    )
  })

  it('refuse in one shape', () => {
    const body = refusalBody('bad_request', [
      { field: 'to', code: 'number_malformed', message: 'Write it as 14155550123.' },
    ])

    assert.equal(
      JSON.stringify(body),
      '{"success":false,"code":"HC-2","name":"bad_request_400","data":{"errors":[{"field":"to","code":"number_malformed","message":"Write it as 14155550123."}]},"message":"The request is not valid. See data.errors."}',
    )
    assert.equal(refusalResponse.safeParse(body).success, true)
  })
})
