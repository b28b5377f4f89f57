/** The kind of test that shows a mistake: requests that send nothing, messages, disturbed calls, receipts, restarts. */
type Trial = 'asked' | 'sent' | 'disturbed' | 'reported' | 'restarted'

export interface BrokenAdapter {
  readonly shownBy: Trial
  /** The title of a promise that it breaks. */
  readonly title: RegExp
  readonly file?: 'adapter.mjs' | 'kannel.mjs'
  readonly code: string
  readonly instead: string
}

/** Mistakes that an adapter could make, each as a change to the source of the adapter for Kannel. */
export const BROKEN_ADAPTERS: Readonly<Record<string, BrokenAdapter>> = {
  'believes every signature': {
    shownBy: 'asked',
    title: /signed with another secret/,
    code: 'timingSafeEqual(one, digest(key, { id, time, content }))',
    instead: 'true',
  },
  'believes every clock': { shownBy: 'asked', title: /6 minutes behind/, code: '<= 300)', instead: '<= 3_000)' },
  'does not compare the id of a request with its path': {
    shownBy: 'asked',
    title: /question about one attempt with the webhook-id of another/,
    code: '!id.startsWith(purpose)',
    instead: 'false',
  },
  'does not compare the id of a request with its body': {
    shownBy: 'asked',
    title: /an attempt with the webhook-id of another/,
    code: 'attemptId !== id.slice(4)',
    instead: 'false',
  },
  'signs its answers under an id of its own': {
    shownBy: 'asked',
    title: /describes itself/,
    code: 'signed(id, text)',
    instead: "signed('answer', text)",
  },
  'does not sign its answers': {
    shownBy: 'asked',
    title: /describes itself/,
    code: 'response.writeHead(200, signed(id, text))',
    instead: 'response.writeHead(200)',
  },
  'does not close what it says never came': {
    shownBy: 'asked',
    title: /attempt_closed when it comes/,
    code: "if (closed.has(attemptId)) return rejected('transient', 'attempt_closed')",
    instead: '',
  },
  'says of everything that it never came': {
    shownBy: 'asked',
    title: /forgotten of an attempt from before/,
    code: "if (!(logSince < startedAt - 300_000)) return { state: 'forgotten' }",
    instead: '',
  },
  'begins after notAfter': {
    shownBy: 'asked',
    title: /too_late/,
    code: "if (Date.now() > notAfter) return rejected('transient', 'too_late')",
    instead: 'attempt.notAfter = Date.now() + 5_000',
  },
  'takes anything for a number': {
    shownBy: 'asked',
    title: /recipient that would be two/,
    code: '!/^[0-9]{1,20}$/.test(to)',
    instead: '!to',
  },
  'sends types that it does not know': {
    shownBy: 'asked',
    title: /type that it does not know/,
    code: "if (!gateway.capabilities.types.includes(content.type)) return rejected('permanent', 'type_unsupported')",
    instead: '',
  },
  'hands an attempt over each time it comes': {
    shownBy: 'disturbed',
    title: /calls its gateway once/,
    code: 'const known = rows.get(attemptId)',
    instead: 'const known = null',
  },
  'does not give its answer again': {
    shownBy: 'sent',
    title: /gives it again/,
    code: '(known.running ?? known.result ?? ',
    instead: '(known.result ? unknown("known") : known.running ?? ',
  },
  'takes another body for the same': {
    shownBy: 'sent',
    title: /another body under the id/,
    code: 'known.hash === hash',
    instead: 'true',
  },
  'does not count what it sends': {
    shownBy: 'sent',
    title: /rejects a text of more than/,
    file: 'kannel.mjs',
    code: 'length > most',
    instead: 'false',
  },
  'forgets what it accepted': {
    shownBy: 'sent',
    title: /evidence that it was accepted/,
    code: "if (row?.result && row.result.result !== 'unknown')",
    instead: 'if (false)',
  },
  'calls a broken line not sent': {
    shownBy: 'disturbed',
    title: /before the line broke/,
    file: 'kannel.mjs',
    code: 'return error.mayHaveLeft',
    instead: 'return false',
  },
  'reads 500 as not sent': {
    shownBy: 'disturbed',
    title: /answers 500/,
    file: 'kannel.mjs',
    code: 'return unknown(`Kannel answered',
    instead: "if (status === 500) return rejected('transient', 'busy')\n  return unknown(`Kannel answered",
  },
  'waits for its gateway as long as it takes': {
    shownBy: 'disturbed',
    title: /says so in time/,
    file: 'kannel.mjs',
    code: 'body: content.text, timeoutMs })',
    instead: 'body: content.text, timeoutMs: timeoutMs + 3_000 })',
  },
  'calls its gateway again when the line breaks': {
    shownBy: 'disturbed',
    title: /hands a message over once/,
    code: "request.on('error', stop)",
    instead:
      "request.on('error', (error) => headers.again ? stop(error) : ask(url, { method, headers: { ...headers, again: 1 }, body, timeoutMs }).then(resolve, stop))",
  },
  'calls it unknown when nothing took the connection': {
    shownBy: 'disturbed',
    title: /refuses the connection/,
    file: 'kannel.mjs',
    code: 'return error.mayHaveLeft',
    instead: 'return true',
  },
  'gives up a receipt that was not taken': {
    shownBy: 'reported',
    title: /repeats them unchanged/,
    code: 'isDone = isTaken ||',
    instead: 'isDone = true ||',
  },
  'repeats a receipt under another id': {
    shownBy: 'reported',
    title: /repeats them unchanged/,
    code: 'headers: signed(id, body)',
    instead: "headers: signed('rcp_' + Math.random(), body)",
  },
  'never stops repeating a receipt': {
    shownBy: 'reported',
    title: /stops when they are taken/,
    code: 'isDone = isTaken ||',
    instead: 'isDone =',
  },
  'does not sign its receipts': {
    shownBy: 'reported',
    title: /signs its receipts/,
    code: 'headers: signed(id, body)',
    instead: "headers: { 'webhook-id': id }",
  },
  'reports for another connection': {
    shownBy: 'reported',
    title: /signs its receipts/,
    code: 'connectionId: row.connectionId,',
    instead: "connectionId: 'another',",
  },
  'forgets at a restart what it closed': {
    shownBy: 'restarted',
    title: /still rejects it after a restart/,
    code: 'else if (entry.closed && entry.at > oldest)',
    instead: 'else if (false)',
  },
  'forgets at a restart what it answered': {
    shownBy: 'restarted',
    title: /same answer after a restart/,
    code: 'else if (entry.done && rows.has(entry.done))',
    instead: 'else if (false)',
  },
}
