import { getServers } from 'node:dns'
import { Resolver } from 'node:dns/promises'
import { networkInterfaces } from 'node:os'
import type { Settings } from '../../../config/read-settings.ts'
import { parseIpAddress } from '../../../core/media-address/ip-address.ts'
import { isPublic } from '../../../core/media-address/public-address.ts'
import type { Examination } from '../examination.ts'
import { type CheckResult, ok, problem, skipped, warning } from '../finding.ts'

const ANSWER_WITHIN_MS = 2_500
// IANA reserves this name for documentation, so it always exists.
const NAME = 'example.com'
const NO_ANSWER = ['ETIMEOUT', 'ECONNREFUSED', 'ECANCELLED']

/** The result of one DNS server. */
interface ServerAnswer {
  readonly server: string
  readonly addresses: readonly string[]
  /** Null when it answered with addresses. */
  readonly code: string | null
}

/** Asks each DNS server for one public name, as the media fetcher would. */
export async function checkResolver({ settings, isOffline }: Examination): Promise<CheckResult> {
  if (isOffline) return skipped('No DNS server was asked, because of --offline.')
  if (!hasNetwork()) return skipped('This machine has no network besides itself, so no name can be looked up.')
  const servers = serversOf(settings)
  return assessAnswers(NAME, await Promise.all(servers.map((server) => ask(server, NAME))))
}

/** Pure. */
export function assessAnswers(name: string, answers: readonly ServerAnswer[]): CheckResult {
  const facts = { name, servers: answers.map(({ server }) => server).join(', ') }
  const silent = answers.filter(({ code }) => code !== null && NO_ANSWER.includes(code))
  const remedy = 'Check /etc/resolv.conf and the firewall, or name other servers in NUNCIO_DNS_SERVERS.'
  if (silent.length === answers.length)
    return problem(
      answers.length === 0
        ? 'No DNS server is known: no attachment can be fetched from a name.'
        : `None of the DNS servers answers (${facts.servers}): no attachment can be fetched from a name.`,
      remedy,
      facts,
    )
  const answered = answers.filter(({ addresses }) => addresses.length > 0)
  if (answered.length === 0)
    return problem(
      `The DNS servers answer, but know no address of ${name} (${answers.map(({ code }) => code).join(', ')}).`,
      remedy,
      facts,
    )
  const inner = answered.find(({ addresses }) => addresses.some((address) => !isPublicText(address)))
  if (inner)
    return warning(
      `${inner.server} says that ${name} is at ${inner.addresses.join(', ')}, which is no public address: it answers with what is not so.`,
      'Media from such names is refused. Name servers that answer truly in NUNCIO_DNS_SERVERS.',
      facts,
    )
  if (silent.length > 0)
    return warning(
      `${silent.map(({ server }) => server).join(', ')} does not answer; others do.`,
      `Each look-up may wait for it. ${remedy}`,
      facts,
    )
  return ok(
    `${answers.length === 1 ? 'The DNS server answers' : `All ${answers.length} DNS servers answer`} (${facts.servers}).`,
    facts,
  )
}

function isPublicText(text: string): boolean {
  const address = parseIpAddress(text)
  return address !== null && isPublic(address)
}

function serversOf(settings: Settings | null): readonly string[] {
  return settings && settings.dnsServers.length > 0 ? settings.dnsServers : getServers()
}

function hasNetwork(): boolean {
  return Object.values(networkInterfaces()).some((addresses) => addresses?.some(({ internal }) => !internal))
}

async function ask(server: string, name: string): Promise<ServerAnswer> {
  const resolver = new Resolver({ timeout: ANSWER_WITHIN_MS, tries: 1 })
  resolver.setServers([server])
  const timer = setTimeout(() => resolver.cancel(), ANSWER_WITHIN_MS)
  try {
    return { server, addresses: await resolver.resolve4(name), code: null }
  } catch (error) {
    return { server, addresses: [], code: error instanceof Error && 'code' in error ? String(error.code) : 'unknown' }
  } finally {
    clearTimeout(timer)
  }
}
