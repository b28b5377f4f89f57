import type { ChannelConnection } from '../../../core/ports/channel-connections.ts'
import { readWhatsAppCloudSettings } from '../settings.ts'
import type { Report } from '../statuses/reported.ts'
import type { ReportedOf } from '../statuses/store-reported.ts'
import type { About, ReadPart } from './read-callback.ts'

interface Routed {
  readonly reports: readonly ReportedOf[]
  /** Parts about numbers that are none of these connections. */
  readonly unknown: number
}

/**
 * Finds the connection that each part of a callback is about, among those of one callback address. They all belong to one
 * account, so nothing that an account signs can reach another account (G8).
 */
export function routeParts(parts: readonly ReadPart[], connections: readonly ChannelConnection[]): Routed {
  const byNetworkKey = new Map<string, ChannelConnection>()
  // Living connections come first: if one was removed and the number added again, the new one has the number.
  for (const connection of connections.toReversed()) byNetworkKey.set(connection.networkKey, connection)
  const collected = new Map<ChannelConnection, Report[]>()
  let unknown = 0
  for (const { about, report } of parts) {
    const owners = 'phoneNumberId' in about ? only(byNetworkKey.get(about.phoneNumberId)) : ownersOf(about, connections)
    if (owners.length === 0) unknown += 1
    for (const owner of owners) {
      const reports = collected.get(owner)
      if (reports) reports.push(report)
      else collected.set(owner, [report])
    }
  }
  const reports = [...collected].map(
    ([connection, its]): ReportedOf => ({
      connectionId: connection.id,
      others: connections
        .filter((other) => other !== connection && other.networkKey === connection.networkKey)
        .map(({ id }) => id),
      report: {
        statuses: its.flatMap(({ statuses }) => statuses),
        writers: its.flatMap(({ writers }) => writers),
        numbers: its.flatMap(({ numbers }) => numbers),
      },
    }),
  )
  return { reports, unknown }
}

function ownersOf(
  about: Extract<About, { businessAccountId: string }>,
  connections: readonly ChannelConnection[],
): readonly ChannelConnection[] {
  return connections.filter(
    ({ isRemoved, number, settings }) =>
      !isRemoved &&
      readWhatsAppCloudSettings(settings).businessAccountId === about.businessAccountId &&
      (about.number === null || about.number === number),
  )
}

function only<T>(one: T | undefined): readonly T[] {
  return one === undefined ? [] : [one]
}
