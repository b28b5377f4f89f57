import type { MediaFailureCode } from '../ports/media.ts'
import type { Place, ReasonRow, SpecialCause } from '../sentences/texts.ts'

interface MediaReason extends ReasonRow {
  readonly causes: readonly SpecialCause[]
  readonly opens?: Place
}

type CauseRow = readonly [words: RegExp, list: string, nextStep: string, example: string, failsAgain?: boolean]

/** The words of the download say which of several causes it was, in a sentence of ours. Without them a general one is said. */
function row(
  list: string,
  [cause, nextStep, failsAgain = false]: readonly [cause: string, nextStep: string, failsAgain?: boolean],
  causes: readonly CauseRow[],
): MediaReason {
  return {
    list,
    cause: ['{words}', cause],
    nextStep,
    failsAgain,
    causes: causes.map(([words, ofIt, step, example, again = failsAgain]) => {
      return { when: { words }, list: ofIt, nextStep: step, example, failsAgain: again }
    }),
  }
}

const RETRY_CERTIFICATE = 'Use one from a public authority, then retry.'
const FINAL_URL = 'Give the URL that the file finally has, in a new message.'

/** Why the file of a message could not be downloaded. */
export const MEDIA_REASONS: Readonly<Record<MediaFailureCode, MediaReason>> = {
  media_dns: row(
    'File host not found',
    ['The name in the media URL could not be resolved.', 'Check the host in the URL, then retry.'],
    [
      [
        / does not exist\./,
        'File host does not exist',
        'Check the host in the URL, then retry.',
        'The name "files.example" does not exist.',
      ],
      [
        /No DNS server answered /,
        'No DNS answer for file host',
        'Retry later. If other hosts fail too, ask the person who runs Nuncio.',
        'No DNS server answered for the name "files.example" within 5 s.',
      ],
      [
        / has no address\./,
        'File host has no address',
        'Add a DNS record for it, then retry.',
        'The name "files.example" has no address.',
      ],
      [
        / is not a valid name\./,
        'Invalid host name',
        'Send a new message with a correct URL.',
        '"files_example" is not a valid name.',
        true,
      ],
      [
        / could not be looked up /,
        'DNS error for file host',
        'Check its DNS, then retry.',
        'The name "files.example" could not be looked up (ESERVFAIL).',
      ],
    ],
  ),
  media_connect: row(
    'File host not reachable',
    ['The media host did not take a connection.', 'Check that it is reachable from the internet, then retry.'],
    [
      [
        / refused the connection/,
        'File host refused connection',
        'Check that its web server runs, then retry.',
        'files.example refused the connection on port 443.',
      ],
      [
        / closed the connection /,
        'File host closed connection',
        'Check its web server, then retry.',
        'files.example closed the connection without an answer.',
      ],
    ],
  ),
  media_tls: row(
    'No secure connection to file host',
    ['There was no secure connection to the media host.', 'Correct the TLS settings of the host, then retry.'],
    [
      [
        / has expired/,
        'Certificate expired',
        'Renew the certificate, then retry.',
        'The certificate of files.example has expired.',
      ],
      [
        / not valid yet/,
        'Certificate not valid yet',
        'Check its start date and the clocks, then retry.',
        'The certificate of files.example is not valid yet.',
      ],
      [
        / self-signed/,
        'Certificate self-signed',
        RETRY_CERTIFICATE,
        'The certificate of files.example is self-signed.',
      ],
      [
        / send its intermediate/,
        'Certificate incomplete',
        'Install the full chain, then retry.',
        'files.example does not send its intermediate certificates.',
      ],
      [
        / unknown authority/,
        'Certificate not trusted',
        RETRY_CERTIFICATE,
        'The certificate of files.example comes from an unknown authority.',
      ],
      [
        / is for another name\./,
        'Certificate for another name',
        'Get a certificate for the host, then retry; or send a new message with another URL.',
        'The certificate of files.example is for another name.',
      ],
      [
        / does not speak TLS /,
        'No TLS on this port',
        'Check the port, or send a new message with an http:// URL.',
        'files.example does not speak TLS on port 443.',
      ],
      [
        /The TLS connection to .* broke/,
        'TLS connection broke',
        'Check its TLS settings, then retry.',
        'The TLS connection to files.example broke (EPROTO).',
      ],
    ],
  ),
  media_timeout: row(
    'File host too slow',
    ['The media host was too slow.', 'Serve the file faster, then retry; or send a smaller one.'],
    [
      [
        / did not (answer|finish) /,
        'File host too slow',
        'Make the host answer faster, then retry.',
        'files.example did not answer the request within 10 s.',
      ],
    ],
  ),
  media_status: row(
    'File host gave no file',
    [
      'The file host answered without the file.',
      'Check the URL in a private browser window. If the file is there now, retry.',
    ],
    [
      [
        / answered 401 /,
        'File needs sign-in (401)',
        'Give a URL that works without sign-in, in a new message.',
        'files.example answered 401 (sign-in needed).',
        true,
      ],
      [
        / answered 403 /,
        'File forbidden (403)',
        'Send a new message with a fresh link.',
        'files.example answered 403 (forbidden): the link needs sign-in or has run out.',
      ],
      [
        / answered 404 /,
        'File not found (404)',
        'Check the URL. If the file is there now, retry.',
        'files.example answered 404 (not found).',
      ],
      [
        / answered 410 /,
        'File gone (410)',
        'Send a new message with another URL.',
        'files.example answered 410 (gone): the file was removed.',
        true,
      ],
      [
        / answered 429 /,
        'File host limits us (429)',
        'Allow more downloads there, then retry.',
        'files.example answered 429 (too many requests).',
      ],
      [
        / answered (408|425) /,
        'File host asks to wait',
        'Retry once it works.',
        'files.example answered 425 (too early).',
      ],
      [
        / answered 5/,
        'File host has an error',
        'The host has a problem. Retry once it works.',
        'files.example answered 500 (internal server error).',
      ],
      [
        / answered 202:/,
        'File not ready (202)',
        'Retry once the file is there.',
        'files.example answered 202: it is still making the file.',
      ],
      [
        /, which holds no file\./,
        'No file in the answer',
        'Give a URL that returns the file itself, in a new message.',
        'files.example answered 204, which holds no file.',
        true,
      ],
    ],
  ),
  media_too_big: row(
    'Too big',
    ['The file is larger than this type allows.', 'Send a smaller file, or as a document.', true],
    [
      [
        /type document |a document /,
        'Too big',
        'Send a smaller file, or a link to it.',
        'The file has 120 MB; a document may have 100 MB.',
      ],
    ],
  ),
  media_wrong_type: row(
    'File of another kind',
    [
      'The content of the file is not of the type the message says.',
      'Send it with the type it has, or as a document.',
      true,
    ],
    [
      [
        / HTML page/,
        'A web page, not the file',
        'It is often a sign-in or error page: open the URL in a private window.',
        'The file is an HTML page, but type image takes JPEG, PNG, WebP or GIF.',
        false,
      ],
      [
        / is (plain text|a? ?JSON|an? XML)/,
        'Text, not the file',
        'It is often an error message: open the URL in a private window.',
        'The file is plain text, but type image takes JPEG, PNG, WebP or GIF.',
        false,
      ],
      [
        / HEIC/,
        'HEIC, not a usable image',
        'Convert it to JPEG, or send it as a document.',
        'The file is an HEIC photo, but type image takes JPEG, PNG, WebP or GIF.',
      ],
    ],
  ),
  media_blocked: row(
    'Address not allowed',
    [
      'The media URL, or a redirect, leads to an address that is not public, or that the operator has closed.',
      'Serve the file from a public address, in a new message.',
      true,
    ],
    [
      [
        / redirects from /,
        'Redirects to insecure http',
        FINAL_URL,
        'files.example redirects from https to http, which is not followed.',
      ],
      [
        / redirects to port /,
        'Redirects to a closed port',
        FINAL_URL,
        'files.example redirects to port 22; only 80, 443, 8080, 8443 are used.',
      ],
      [
        / redirects to a URL /,
        'Invalid redirect',
        FINAL_URL,
        'files.example redirects to a URL with characters that are not allowed.',
      ],
      [
        / redirect/,
        'Redirects to a private address',
        'Give a public URL that does not redirect there, in a new message.',
        'files.example redirects to 10.1.2.3, which is not a public address.',
      ],
    ],
  ),
  media_truncated: row(
    'File cut off',
    ['The file did not arrive whole, or it is empty.', 'Check the host, then retry.'],
    [
      [
        / sent an empty file /,
        'Empty file',
        'Check the file at this URL, then retry.',
        'files.example sent an empty file (0 bytes).',
      ],
    ],
  ),
  media_protocol: row(
    'Unusable answer',
    [
      'The media host answered in a way that cannot be used.',
      'Check the web server or the proxy of the host, then retry.',
    ],
    [
      [/ redirected more than /, 'Too many redirects', FINAL_URL, 'files.example redirected more than 5 times.', true],
      [
        / named no new address\./,
        'Redirect without address',
        'Correct the redirect there, then retry.',
        'files.example answered 302 and named no new address.',
      ],
      [
        / redirects to /,
        'Invalid redirect',
        'Correct the redirect there, then retry.',
        'files.example redirects to something that is no URL.',
      ],
      [
        / compressed the file /,
        'File compressed by its host',
        'Switch compression off for this file, then retry.',
        'files.example compressed the file ("gzip"), though asked not to.',
      ],
    ],
  ),
}

export const FILE_REASONS = {
  media_lost: {
    list: 'File lost, downloading again',
    cause: 'The downloaded file vanished before its turn came.',
    nextStep:
      'You need not do anything while it waits. If it happens again, ask what removes files from the data folder.',
    causes: [
      {
        when: { state: 'FAILED' },
        list: 'File lost five times',
        cause: 'Nuncio downloaded the file five times, and each time it vanished from the data folder.',
        nextStep: 'Ask the person who runs Nuncio what removes files there. Then retry.',
      },
    ],
  },
  media_not_ready: {
    list: 'Uploading again',
    cause: '{network} no longer has the file that was uploaded before.',
    nextStep: 'You need not do anything: it is uploaded again.',
  },
  media_not_for_network: {
    list: 'File not taken by the network',
    cause: ['{words}', '{network} does not take a file like this for this type of message.'],
    nextStep: 'Send a file that it takes, in a new message.',
    failsAgain: true,
    causes: [
      {
        when: { words: / takes no empty file/ },
        list: 'Empty file',
        nextStep: 'Check the file at this URL, then retry.',
        failsAgain: false,
        example: 'The file is empty (0 bytes), and WhatsApp takes no empty file.',
      },
      {
        when: { words: / of at most / },
        list: 'Too big for WhatsApp',
        nextStep: 'Send a smaller file, or send it as a document.',
        example: 'WhatsApp takes an image of at most 5 MB (5,000,000 bytes); this one has 6,475,149 bytes.',
      },
      {
        when: { words: / Ogg only with Opus/ },
        list: 'Ogg without Opus',
        nextStep: 'Convert it to Ogg with Opus, or to MP3.',
        example: 'WhatsApp takes Ogg only with Opus in it, and this file holds something else.',
      },
      {
        when: { words: / one channel / },
        list: 'Opus must be mono',
        nextStep: 'Convert it to mono.',
        example: 'WhatsApp takes Opus with one channel (mono), and this file has 2.',
      },
      {
        when: { words: / does not take / },
        list: 'Not taken by WhatsApp',
        nextStep: 'Convert it, or send it as a document if that fits.',
        example: 'WhatsApp does not take image/webp here: an image must be JPEG or PNG.',
      },
    ],
  },
} as const satisfies Record<string, ReasonRow>
