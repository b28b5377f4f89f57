import type { MediaFailureCode } from '../ports/media.ts'

interface MediaReason {
  /** True of every cause that has this code. */
  readonly sentence: string
  /** For causes that none of `steps` names. */
  readonly nextStep: string
  /** What to do about one cause. It is found by the words of the download. */
  readonly steps?: readonly (readonly [cause: RegExp, nextStep: string])[]
}

/** Why the file of a message could not be downloaded. Which of several causes it was, the words of the download say. */
export const MEDIA_REASONS: Readonly<Record<MediaFailureCode, MediaReason>> = {
  media_dns: {
    sentence: 'The name in the media URL could not be resolved.',
    nextStep: 'Check the DNS of the host, then retry.',
    steps: [
      [/ does not exist\./, 'Check the host in the URL. If it exists by now, retry.'],
      [/^No DNS server answered /, 'Retry later. If other hosts fail too, ask the person who runs Nuncio.'],
      [/ has no address\./, 'Add a DNS record for it, then retry.'],
      [/ is not a valid name\./, 'Send a new message with a correct URL.'],
    ],
  },
  media_connect: {
    sentence: 'The media host did not take a connection.',
    nextStep: 'Check that the host is up and reachable from the internet, then retry.',
  },
  media_tls: {
    sentence: 'There was no secure connection to the media host.',
    nextStep: 'Correct the certificate or the TLS settings of the host, then retry.',
    steps: [
      [/ does not speak TLS /, 'Check the port, or send a new message with an http:// URL.'],
      [/ is for another name\./, 'Use a URL with that name, or get a certificate for the host.'],
    ],
  },
  media_timeout: {
    sentence: 'The media host was too slow.',
    nextStep: 'Serve the file faster, or send a smaller one.',
    steps: [[/ did not (answer|finish) /, 'Make the host answer faster, then retry.']],
  },
  media_status: {
    sentence: 'The media host answered with a status that brings no file.',
    nextStep: 'Open the URL in a private browser window to see why.',
    steps: [
      [/ answered 401 /, 'Give a URL that works without sign-in, in a new message.'],
      [/ answered 403 /, 'Send a new message with a fresh link.'],
      [/ answered 404 /, 'Check the URL. If the file is there now, retry.'],
      [/ answered 410 /, 'Send a new message with another URL.'],
      [/ answered 429 /, 'Allow more downloads there, then retry.'],
      [/ answered (408|425) /, 'Retry once it works.'],
      [/ answered 5/, 'The host has a problem. Retry once it works.'],
      [/ answered 202:/, 'Retry once the file is there.'],
      [/, which holds no file\./, 'Give a URL that returns the file itself, in a new message.'],
    ],
  },
  media_too_big: {
    sentence: 'The file is larger than this type allows.',
    nextStep: 'Send a smaller file, or as a document.',
    steps: [[/; type document /, 'Send a smaller file, or a link to it.']],
  },
  media_wrong_type: {
    sentence: 'The content of the file is not of the type the message says.',
    nextStep: 'Send it with the type it has, or as a document.',
    steps: [[/ HTML page/, 'It is often a sign-in or error page: open the URL in a private window.']],
  },
  media_blocked: {
    sentence: 'The media URL, or a redirect, leads to an address that is not public, or that the operator has closed.',
    nextStep: 'Serve the file from another address on the internet.',
    steps: [
      [/ redirects (from|to port|to a URL) /, 'Give the URL that the file finally has, in a new message.'],
      [/ redirect/, 'Give a public URL that does not redirect there, in a new message.'],
    ],
  },
  media_truncated: {
    sentence: 'The file did not arrive whole, or it is empty.',
    nextStep: 'Check the host, then retry the message.',
    steps: [[/ sent an empty file /, 'Check the file at this URL, then retry.']],
  },
  media_protocol: {
    sentence: 'The media host answered in a way that cannot be used.',
    nextStep: 'Check the web server or the proxy of the host, then retry.',
    steps: [
      [/ redirected more than /, 'Give the URL that the file finally has, in a new message.'],
      [/ named no new address\.| redirects to /, 'Correct the redirect there, then retry.'],
      [/ compressed the file /, 'Switch compression off for this file, then retry.'],
    ],
  },
}
