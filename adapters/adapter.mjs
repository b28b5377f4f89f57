// What every adapter of Nuncio's channel bridge shares: server, signatures, log, receipts, media. Node 22 or newer, nothing to install.
// The protocol: docs/channels/bridge-protocol.md.
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import {
  closeSync,
  createReadStream,
  createWriteStream,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import { basename, dirname, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'

const KEPT_MS = 8 * 86_400_000
// Far longer than any entry: what is longer is none, and must not fill the memory.
const MOST_LINE = 1_000_000
const WRITTEN_AT_ONCE = 1_000
const MOST_WORDS = 500
// What Nuncio takes at once.
const [MOST_RECEIPTS, MOST_RECEIPTS_BYTES] = [100, 256 * 1024]
const ID = /^[0-9a-f-]{36}_[1-9][0-9]{0,8}$/
/** The gateway certainly did not take it, and will not send it. */
export function rejected(kind, code, { words = null, retryAfterMs = null, suspectsGateway = false } = {}) {
  return { result: 'rejected', class: kind, code, words, retryAfterMs, suspectsGateway }
}

/** The gateway took no connection. That is no fault of the message: if it lasts, the connection waits, and no message fails of it. */
export function unreachable(error) {
  return rejected('transient', 'gateway_unreachable', { words: error.message, suspectsGateway: true })
}

export const unknown = (words) => ({ result: 'unknown', words })

/** Reads the arguments. What is missing or wrong ends the process with a sentence. */
export function readArguments(optional, required) {
  const names = ['listen', 'secret-file', 'log', ...required]
  const options = Object.fromEntries([...names, ...optional].map((name) => [name, { type: 'string' }]))
  const values = parsedOrFail(options)
  const missing = names.filter((name) => values[name] === undefined)
  if (missing.length > 0) fail(`Give ${missing.map((name) => `--${name}`).join(', ')}.`)
  for (const name of ['gateway', 'status', 'dlr-url'])
    if (values[name] !== undefined && !/^https?:$/.test(URL.parse(values[name])?.protocol))
      fail(`--${name} is a URL, such as http://127.0.0.1:13013.`)
  return values
}

function parsedOrFail(options) {
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return fail(`${error.message.split(/\. |\n/)[0].replace(/\.$/, '')}.`)
  }
}

/** Ends the process with a sentence about what was given to it. */
export function fail(sentence) {
  console.error(sentence)
  process.exit(1)
}

/** The text of the file that an option names, such as a password. */
export function readText(options, name) {
  try {
    return readFileSync(options[name], 'utf8').trim()
  } catch (error) {
    return fail(`The file of --${name}, ${options[name]}, cannot be read (${error.code}).`)
  }
}

/** The secrets of the file, the current one first. */
export function readKeys(options) {
  const secrets = readText(options, 'secret-file').split(/\s+/)
  const keys = secrets.map((text) => Buffer.from(/^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(text)?.[1] ?? '', 'base64'))
  if (keys.some((key) => key.length < 24 || key.length > 64))
    fail(`The file of --secret-file, ${options['secret-file']}, must hold whsec_… as Nuncio shows it.`)
  return keys
}

/** One HTTP request over a connection of its own. An error has `mayHaveLeft`: false when no connection was made. */
export function ask(url, { method = 'GET', headers = {}, body, timeoutMs = 10_000 } = {}) {
  return new Promise((resolve, reject) => {
    let mayHaveLeft = false
    const request = (url.startsWith('https:') ? https : http).request(url, { method, headers, agent: false })
    const stop = (error) => reject(Object.assign(error, { mayHaveLeft }))
    const timer = setTimeout(() => request.destroy(new Error('no answer in time')), timeoutMs)
    request.on('socket', (socket) => socket.once('connect', () => (mayHaveLeft = true)))
    request.on('error', stop).on('close', () => {
      clearTimeout(timer)
      body?.destroy?.()
    })
    request.on('response', (response) => {
      const pieces = []
      response.on('data', (piece) => pieces.push(piece)).on('error', stop)
      response.on('end', () =>
        resolve({ status: response.statusCode, text: Buffer.concat(pieces).toString(), headers: response.headers }),
      )
    })
    typeof body?.pipe === 'function'
      ? body.on('error', (error) => request.destroy(error)).pipe(request)
      : request.end(body)
  })
}

/** Serves the protocol in front of `gateway`: name, capabilities, health(), check(attempt), send(attempt, timeoutMs, mediaPath), routes. */
export async function serve(options, gateway) {
  // Other users must not read the log and the media.
  process.umask(0o077)
  const keys = readKeys(options)
  const [, host, port] = /^\[?(.*?)\]?:([0-9]{1,5})$/.exec(options.listen) ?? []
  if (!host || Number(port) > 65_535) fail('--listen is HOST:PORT, such as 127.0.0.1:7900.')
  const mediaFolder = `${options.log}.media`
  const [rows, closed, outbox] = [new Map(), new Map(), new Map()]
  // Of accepted attempts, by what the gateway calls them.
  const ids = new Map()
  const { file, logSince } = await openLog(options.log, mediaFolder, { rows, closed, outbox }).catch((error) =>
    fail(`The file of --log, ${options.log}, cannot be used (${error.code ?? error.message}).`),
  )
  let [lines, flushing, receiptNumber, handingOver] = [[], null, Math.max(0, ...outbox.keys()), 0]
  const learn = (attemptId, row, result) => {
    row.result = result
    if (result.networkId) ids.set(result.networkId, attemptId)
  }
  for (const [attemptId, row] of rows) if (row.result) learn(attemptId, row, row.result)
  const digest = (key, { id, time, content }) =>
    createHmac('sha256', key).update(`${id}.${time}.`).update(content).digest()
  const signed = (id, body, time = Math.floor(Date.now() / 1000)) => ({
    ...{
      'content-type': 'application/json',
      'nuncio-bridge': '1',
      'webhook-id': id,
      'webhook-timestamp': String(time),
    },
    'webhook-signature': keys
      .map((key) => `v1,${digest(key, { id, time, content: body }).toString('base64')}`)
      .join(' '),
  })
  const isSigned = (headers, content) => {
    const [id, time] = [headers['webhook-id'] ?? '', headers['webhook-timestamp'] ?? '']
    if (headers['nuncio-bridge'] !== '1' || !(Math.abs(Date.now() / 1000 - Number(time)) <= 300)) return false
    const given = (headers['webhook-signature'] ?? '')
      .split(' ')
      .map((text) => Buffer.from(text.replace(/^v1,/, ''), 'base64'))
    return keys.some((key) =>
      given.some((one) => one.length === 32 && timingSafeEqual(one, digest(key, { id, time, content }))),
    )
  }
  /** On the disk when it resolves. Lines of one moment share an fdatasync; a line that was cut off is skipped when it is read. */
  const append = (entry) =>
    new Promise((resolve, reject) => {
      lines.push({ text: `${JSON.stringify(entry)}\n`, resolve, reject })
      flushing ??= flush().finally(() => (flushing = null))
    })
  async function flush() {
    while (lines.length > 0) {
      const batch = lines.splice(0)
      // Not `write`, which takes a part for success on a full disk.
      await file
        .appendFile(`\n${batch.map(({ text }) => text).join('')}`)
        .then(() => file.datasync())
        .then(
          () => {
            for (const { resolve } of batch) resolve()
          },
          (error) => {
            for (const { reject } of batch) reject(error)
          },
        )
    }
  }

  async function handOver(attempt, row) {
    try {
      await append({ open: attempt.attemptId, ...row })
    } catch (error) {
      rows.delete(attempt.attemptId)
      return rejected('connection', 'adapter_storage', { words: error.message, retryAfterMs: 5_000 })
    }
    const timeoutMs = attempt.notAfter - 1_000 - Date.now()
    const sha256 = attempt.content.media?.sha256
    let result = rejected('transient', 'too_late')
    handingOver += 1
    try {
      if (timeoutMs > 0)
        result = await gateway.send(attempt, { timeoutMs, mediaPath: sha256 && `${mediaFolder}/${sha256}` })
    } catch (error) {
      result = unknown(error.message)
    } finally {
      handingOver -= 1
    }
    // A report may have come before this answer, and knows more.
    if (row.result?.result !== 'accepted') learn(attempt.attemptId, row, result)
    await append({ done: attempt.attemptId, result: row.result }).catch(() => {})
    return row.result
  }
  async function attemptOf(body, id) {
    const attempt = JSON.parse(body)
    const { type, attemptId, messageId, connectionId, from, to, content, receiptsUrl, notAfter } = attempt
    if (
      type !== 'attempt' ||
      attemptId !== id.slice(4) ||
      !ID.test(attemptId) ||
      !/^[0-9]{1,20}$/.test(to) ||
      !/^[0-9]{1,20}$/.test(from) ||
      !content
    )
      return null
    const hash = createHash('sha256').update(body).digest('hex')
    const known = rows.get(attemptId)
    // Another body under the id of one that may have left: nothing can be promised of it.
    if (known)
      return known.hash === hash
        ? (known.running ?? known.result ?? unknown('interrupted'))
        : unknown('another body under the same id')
    if (closed.has(attemptId)) return rejected('transient', 'attempt_closed')
    if (Date.now() > notAfter) return rejected('transient', 'too_late')
    if (!gateway.capabilities.types.includes(content.type)) return rejected('permanent', 'type_unsupported')
    if (content.media && !hasMedia(content.media)) return rejected('transient', 'media_missing', { retryAfterMs: 0 })
    const refusal = gateway.check?.(attempt)
    if (refusal) return refusal
    const row = { hash, messageId, connectionId, receiptsUrl, at: Date.now(), result: null }
    rows.set(attemptId, row)
    Object.defineProperty(row, 'running', { value: handOver(attempt, row) })
    return row.running
  }
  async function evidenceOf(attemptId, startedAt) {
    const row = rows.get(attemptId)
    const isYoung = row && Date.now() - row.at < 600_000
    if (row?.result && row.result.result !== 'unknown') return { state: row.result.result, ...row.result }
    if (row) return { state: isYoung && (gateway.settlesLater || !row.result) ? 'pending' : 'unknown' }
    if (!(logSince < startedAt - 300_000)) return { state: 'forgotten' }
    // Before the answer: the attempt may still arrive, held back in a proxy. And before it is written: it may arrive meanwhile.
    if (!closed.has(attemptId)) closed.set(attemptId, append({ closed: attemptId, at: Date.now() }))
    try {
      await closed.get(attemptId)
    } catch (error) {
      closed.delete(attemptId)
      throw error
    }
    return { state: 'not_received' }
  }
  /** A file of another length is what a crash left: it is removed, so that the next one is taken in its place. */
  function hasMedia({ sha256, sizeBytes }) {
    const path = `${mediaFolder}/${sha256}`
    const isWhole = statSync(path, { throwIfNoEntry: false })?.size === sizeBytes
    if (!isWhole) rmSync(path, { force: true })
    return isWhole
  }
  async function mediaOf(request, sha256) {
    const path = `${mediaFolder}/${sha256}`
    if (gateway.capabilities.types.length === 1) return { ready: false, ...rejected('permanent', 'type_unsupported') }
    if (request.method === 'PUT' && !existsSync(path)) {
      const hash = createHash('sha256')
      const part = `${path}.${randomBytes(6).toString('hex')}`
      await pipeline(
        request,
        async function* (pieces) {
          for await (const piece of pieces) {
            hash.update(piece)
            yield piece
          }
        },
        createWriteStream(part, { flush: true }),
      )
      if (hash.digest('hex') === sha256) renameSync(part, path)
      else rmSync(part)
    }
    for (const name of readdirSync(mediaFolder))
      if (Date.now() - statSync(`${mediaFolder}/${name}`).mtimeMs > 86_400_000) rmSync(`${mediaFolder}/${name}`)
    return { ready: existsSync(path) }
  }

  /** Keeps a report until Nuncio has it; on the disk when it resolves. `settled`: the result, if it was unknown. */
  async function report(attemptId, kind, { networkId = null, code = null, words = null } = {}) {
    const row = rows.get(attemptId)
    if (!row) return false
    const settled = kind !== 'failed' &&
      (row.result?.result ?? 'unknown') === 'unknown' && {
        result: 'accepted',
        networkId: networkId ?? `${gateway.name}:${attemptId}`,
      }
    if (settled) {
      learn(attemptId, row, settled)
      await append({ done: attemptId, result: settled })
    }
    if (!row.receiptsUrl) return true
    const receipt = {
      attemptId,
      connectionId: row.connectionId,
      kind,
      at: Date.now(),
      networkId: networkId ?? row.result?.networkId ?? null,
      code,
      words: words && String(words).slice(0, MOST_WORDS),
    }
    const number = ++receiptNumber
    await append({ receipt: number, url: row.receiptsUrl, body: receipt })
    outbox.set(number, { url: row.receiptsUrl, body: receipt })
    void post(row.receiptsUrl)
    return true
  }
  /** As `report`, by what the gateway calls the message. The status of the answer to the gateway: 503 asks it to come again. */
  async function reportId(networkId, kind, more) {
    const attemptId = ids.get(networkId)
    if (attemptId) await report(attemptId, kind, { networkId, ...more })
    // Perhaps of what is being handed over, whose id is not known yet. Else somebody sent it without us.
    return attemptId || handingOver === 0 ? 200 : 503
  }
  /** The oldest to this address, as many as Nuncio takes at once. */
  function nextBatch(url) {
    const batch = []
    let bytes = 100
    for (const entry of outbox) {
      if (entry[1].url !== url) continue
      bytes += Buffer.byteLength(JSON.stringify(entry[1].body)) + 1
      if (batch.length === MOST_RECEIPTS || (bytes > MOST_RECEIPTS_BYTES && batch.length > 0)) break
      batch.push(entry)
    }
    return batch
  }
  const posting = new Set()
  /** One after the other to one address. None of them waits for another address. */
  async function post(url) {
    if (posting.has(url)) return
    posting.add(url)
    for (let waitMs = 1_000; ; ) {
      const batch = nextBatch(url)
      if (batch.length === 0) break
      const body = JSON.stringify({ type: 'receipts', receipts: batch.map(([, one]) => one.body) })
      const id = `rcp_${createHash('sha256').update(body).digest('hex')}`
      for (let isDone = false; !isDone; waitMs = Math.min(waitMs * 2, 600_000)) {
        const answer = await ask(url, { method: 'POST', headers: signed(id, body), body, timeoutMs: 15_000 }).catch(
          () => null,
        )
        // No unsigned answer ends it: a proxy may have given it. A signed 400 says that Nuncio can never read it.
        const isTold = answer?.headers['webhook-id'] === id && isSigned(answer.headers, answer.text)
        const [isTaken, isRefused] = [isTold && answer.status === 200, isTold && answer.status === 400]
        // After three days no one waits for it.
        const isOld = Date.now() - batch[0][1].body.at > 3 * 86_400_000
        isDone = isTaken || isRefused || isOld
        if (isDone && !isTaken)
          console.error(
            `Receipts of ${batch.length} attempts, the first of ${batch[0][1].body.attemptId}, are dropped: ${isRefused ? `Nuncio cannot read them (${answer.text})` : 'nobody took them for three days'}.`,
          )
        if (!isDone) await new Promise((resolve) => setTimeout(resolve, waitMs))
      }
      await append({ taken: batch.map(([number]) => number) }).catch(() => {})
      for (const [number] of batch) outbox.delete(number)
      waitMs = 1_000
    }
    posting.delete(url)
  }

  async function answer(request, response) {
    const url = new URL(request.url, 'http://adapter')
    const [, , what, name = ''] = url.pathname.split('/')
    const sha256 = what === 'media' && request.method === 'PUT' ? name : null
    const id = request.headers['webhook-id'] ?? ''
    const body = sha256 === null ? await bodyOf(request) : ''
    if (body === null) return response.writeHead(413).end()
    const own = await gateway.routes?.({ request, url, body, report, reportId })
    if (own) return response.writeHead(own.status).end(own.text)
    const isOk = isSigned(request.headers, sha256 === null ? body : `${sha256}.${request.headers['content-length']}`)
    const purpose =
      { attempts: request.method === 'POST' ? 'att_' : `evi_${name}_`, media: `med_${name}_` }[what] ?? 'hea_'
    if (!isOk || !id.startsWith(purpose) || (what === 'media' && !/^[0-9a-f]{64}$/.test(name)))
      return response.writeHead(401).end()
    const value =
      url.pathname === '/health'
        ? {
            type: 'health',
            versions: [1],
            adapter: `${gateway.name} 1`,
            gateway: gateway.title,
            now: Date.now(),
            logSince,
            senders: null,
            words: null,
            capabilities: gateway.capabilities,
            ...(await gateway.health()),
          }
        : what === 'media'
          ? { type: 'media', sha256: name, ...(await mediaOf(request, name)) }
          : request.method === 'POST'
            ? await attemptOf(body, id).then(
                (result) => result && { type: 'outcome', attemptId: id.slice(4), ...result },
              )
            : {
                type: 'evidence',
                attemptId: name,
                logSince,
                ...(await evidenceOf(name, Number(url.searchParams.get('startedAt')))),
              }
    if (!value) return response.writeHead(400).end()
    const text = JSON.stringify(value)
    response.writeHead(200, signed(id, text)).end(text)
  }
  // A large file over a slow line takes longer than the five minutes that Node gives a request.
  const server = http.createServer({ requestTimeout: 0 }, (request, response) =>
    answer(request, response).catch(() => response.writeHead(500).end()),
  )
  server.on('error', (error) =>
    fail(`Nothing can listen on ${options.listen} (${error.code}): give --listen another one.`),
  )
  server.listen(Number(port), host, () =>
    console.log(
      `${gateway.name}: listening on ${host}:${server.address().port}, log since ${new Date(logSince).toISOString()}`,
    ),
  )
  for (const { url } of outbox.values()) void post(url)
}

/** Null when it is longer than any request of Nuncio. */
async function bodyOf(request) {
  const pieces = []
  let bytes = 0
  for await (const piece of request) {
    bytes += piece.length
    if (bytes > 524_288) return null
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}

/** Reads the log, drops what is too old, and opens it for appending. `logSince`: from when on nothing is missing. */
async function openLog(path, mediaFolder, { rows, closed, outbox }) {
  mkdirSync(mediaFolder, { recursive: true })
  if (!(await holdAlone(path))) fail(`Another adapter uses ${path}: two cannot share a log.`)
  const oldest = Date.now() - KEPT_MS
  let bornAt = null
  for await (const line of linesOf(path)) {
    const entry = parsed(line)
    if (!entry) continue
    if (entry.born) bornAt ??= entry.born
    else if (entry.open && entry.at > oldest) rows.set(entry.open, { ...entry, result: null })
    else if (entry.done && rows.has(entry.done)) rows.get(entry.done).result = entry.result
    else if (entry.closed && entry.at > oldest) closed.set(entry.closed, entry.at)
    else if (entry.receipt) outbox.set(entry.receipt, { url: entry.url, body: entry.body })
    else if (entry.taken) for (const number of entry.taken) outbox.delete(number)
  }
  const logSince = Math.max(bornAt ?? Date.now(), oldest)
  function* kept() {
    yield { born: logSince }
    for (const [id, row] of rows) {
      yield { ...row, open: id, result: undefined }
      if (row.result) yield { done: id, result: row.result }
    }
    for (const [id, at] of closed) yield { closed: id, at }
    for (const [number, one] of outbox) yield { receipt: number, ...one }
  }
  writeLines(`${path}.new`, kept())
  renameSync(`${path}.new`, path)
  const folder = openSync(dirname(path), 'r')
  fsyncSync(folder)
  return { file: await open(path, 'a'), logSince }
}

/** One after the other, so that a log of any size can be read. A line that is too long is left out. */
async function* linesOf(path) {
  if (!existsSync(path)) return
  let [rest, isTooLong] = ['', false]
  for await (const piece of createReadStream(path, 'utf8')) {
    const [first, ...more] = piece.split('\n')
    if (!isTooLong) rest += first
    isTooLong ||= rest.length > MOST_LINE
    if (isTooLong) rest = ''
    for (const next of more) {
      yield rest
      rest = next
      isTooLong = false
    }
  }
  yield rest
}

function writeLines(path, entries) {
  const file = openSync(path, 'w')
  let lines = []
  const write = () => {
    const bytes = Buffer.from(lines.join(''))
    // A full disk may take only a part at first; the next try says that it is full.
    for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
    lines = []
  }
  for (const entry of entries) if (lines.push(`${JSON.stringify(entry)}\n`) === WRITTEN_AT_ONCE) write()
  write()
  fsyncSync(file)
  closeSync(file)
}

/** Null for what is no entry. */
function parsed(line) {
  try {
    return JSON.parse(line)
  } catch {
    return null
  }
}

/**
 * False while another process holds the log. A socket beside it is what holds it: unlike the number of a process in a file it
 * ends with the process, is no other's after a restart, and is seen from other containers as well.
 */
async function holdAlone(path) {
  // By way of the open folder, because the path of a socket may have about a hundred bytes only.
  const folder = existsSync('/proc/self/fd') ? `/proc/self/fd/${openSync(dirname(path), 'r')}` : dirname(path)
  const file = `${folder}/${basename(path)}.lock`
  const lock =
    process.platform === 'win32' ? `\\\\.\\pipe\\${createHash('sha256').update(resolve(path)).digest('hex')}` : file
  if (await listens(lock)) return true
  if (await isServed(lock)) return false
  // What is left of a process that was killed. Another one may find it at the same moment: the later one has the file.
  rmSync(lock, { force: true })
  if (!(await listens(lock))) return false
  const { ino } = statSync(lock)
  await new Promise((done) => setTimeout(done, 100))
  return statSync(lock, { throwIfNoEntry: false })?.ino === ino
}

function listens(lock) {
  return new Promise((done, reject) => {
    const server = net.createServer((socket) => socket.destroy())
    server.on('error', (error) => (error.code === 'EADDRINUSE' ? done(false) : reject(error)))
    server.listen(lock, () => done(true)).unref()
  })
}

function isServed(lock) {
  return new Promise((done) => {
    const socket = net.connect(lock, () => socket.destroy())
    socket
      .on('connect', () => done(true))
      .on('error', (error) => done(!['ECONNREFUSED', 'ENOENT'].includes(error.code)))
  })
}
