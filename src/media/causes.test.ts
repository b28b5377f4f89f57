import { afterEach, beforeEach, expect, it } from 'vitest'
import { MediaWorld } from '../../test/support/media-world/media-world.ts'
import { answering, redirecting, type Script } from '../../test/support/media-world/test-host.ts'
import { explainReason } from '../core/reasons.ts'

let world: MediaWorld
beforeEach(async () => {
  world = await MediaWorld.open()
})
afterEach(() => world.close())

const FINAL_URL = 'Give the URL that the file finally has, in a new message.'
const NO_REDIRECT = 'Give a public URL that does not redirect there, in a new message.'
const FIX_REDIRECT = 'Correct the redirect there, then retry.'
const PAGE = '<!DOCTYPE html><html><title>Sign in</title></html>'

it.each([
  [
    '401',
    answering(401, {}, ''),
    ['HOST answered 401 (sign-in needed).', 'Give a URL that works without sign-in, in a new message.'],
  ],
  [
    '403',
    answering(403, {}, ''),
    ['HOST answered 403 (forbidden): the link needs sign-in or has run out.', 'Send a new message with a fresh link.'],
  ],
  [
    '404',
    answering(404, {}, ''),
    ['HOST answered 404 (not found).', 'Check the URL. If the file is there now, retry.'],
  ],
  [
    '410',
    answering(410, {}, ''),
    ['HOST answered 410 (gone): the file was removed.', 'Send a new message with another URL.'],
  ],
  [
    '418',
    answering(418, {}, ''),
    [
      "HOST answered 418 (i'm a teapot).",
      'Check the URL in a private browser window. If the file is there now, retry.',
    ],
  ],
  [
    '429',
    answering(429, {}, ''),
    ['HOST answered 429 (too many requests).', 'Allow more downloads there, then retry.'],
  ],
  ['425', answering(425, {}, ''), ['HOST answered 425 (too early).', 'Retry once it works.']],
  [
    '500',
    answering(500, {}, ''),
    ['HOST answered 500 (internal server error).', 'The host has a problem. Retry once it works.'],
  ],
  ['599', answering(599, {}, ''), ['HOST answered 599.', 'The host has a problem. Retry once it works.']],
  ['202', answering(202, {}, ''), ['HOST answered 202: it is still making the file.', 'Retry once the file is there.']],
  [
    '206',
    answering(206, {}, ''),
    ['HOST answered 206, which holds no file.', 'Give a URL that returns the file itself, in a new message.'],
  ],
  [
    'a redirect to a private address',
    redirecting('http://10.1.2.3/a.png'),
    ['HOST redirects to 10.1.2.3, which is not a public address.', NO_REDIRECT],
  ],
  [
    'a redirect to a name of a private address',
    redirecting('http://inside.test/'),
    ['Behind 1 redirect: The URL leads to an address that media is not fetched from.', NO_REDIRECT],
  ],
  ['a redirect loop', redirecting('/again'), ['HOST redirected more than 5 times.', FINAL_URL]],
  [
    'a redirect to a closed port',
    redirecting('http://8.8.8.8:22/'),
    ['HOST redirects to port 22; only 80, 443, 8080, 8443 are used.', FINAL_URL],
  ],
  [
    'a redirect with a tab in it',
    redirecting('http://8.8.8.8/a\tb'),
    ['HOST redirects to a URL with characters that are not allowed.', FINAL_URL],
  ],
  [
    'a redirect without an address',
    answering(302, {}, ''),
    ['HOST answered 302 and named no new address.', FIX_REDIRECT],
  ],
  ['a redirect to no URL', redirecting('http://[::1'), ['HOST redirects to something that is no URL.', FIX_REDIRECT]],
  [
    'an empty file',
    answering(200, {}, ''),
    ['HOST sent an empty file (0 bytes).', 'Check the file at this URL, then retry.'],
  ],
  [
    'a packed file',
    answering(200, { 'content-encoding': 'gzip' }, 'x'),
    ['HOST compressed the file ("gzip"), though asked not to.', 'Switch compression off for this file, then retry.'],
  ],
  [
    'a page',
    answering(200, {}, PAGE),
    [
      'The file is an HTML page, but type image takes JPEG, PNG, WebP or GIF.',
      'It is often a sign-in or error page: open the URL in a private window.',
    ],
  ],
] satisfies [string, Script, [string, string]][])(
  'gives the cause and the next step of %s',
  async (_what, script, [cause, nextStep]) => {
    const host = await world.host(script)
    world.dns.set('inside.test', { a: ['10.1.2.3'] })

    const failed = await world.fetch(host.url(), { type: 'image' })

    expect(explained(failed)).toEqual([cause.replace('HOST', new URL(host.url()).hostname), nextStep])
  },
)

it.each([
  [
    'http://missing.example.com/',
    'The name "missing.example.com" does not exist.',
    'Check the host in the URL, then retry.',
  ],
  ['http://empty.example.com/', 'The name "empty.example.com" has no address.', 'Add a DNS record for it, then retry.'],
  [
    'http://10.1.2.3/',
    'The URL names an address that is not public: use one on the internet.',
    'Serve the file from a public address, in a new message.',
  ],
])('gives the cause and the next step of %s', async (url, cause, nextStep) => {
  world.dns.set('empty.example.com', {})

  expect(explained(await world.fetch(url))).toEqual([cause, nextStep])
})

function explained(failed: Awaited<ReturnType<MediaWorld['fetch']>>): readonly string[] {
  if (failed.kind !== 'failed') return ['fetched']
  const { cause, nextStep, quote } = explainReason(failed.code, { words: failed.words })
  return [cause, nextStep, ...(quote === null ? [] : [quote.words])]
}
