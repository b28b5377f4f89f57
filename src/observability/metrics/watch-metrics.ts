import { ALARM_KIND_NAMES, ALARM_SEVERITIES } from '../../core/watchdog/alarm-kinds.ts'
import type { WatchState } from '../../core/watchdog/watchdog.ts'
import type { Metrics } from '../metrics.ts'

/** Sets the gauges to what the watchdog found at its last check. */
export function setWatchGauges(
  metrics: Pick<Metrics, 'count' | 'set'>,
  { alarms, disks, oldestWaitingMs }: WatchState,
): void {
  for (const kind of ALARM_KIND_NAMES) {
    for (const severity of ALARM_SEVERITIES) {
      const open = alarms.filter((alarm) => alarm.kind === kind && alarm.severity === severity).length
      metrics.set('nuncio_alarms_open', { kind, severity }, open)
    }
  }
  for (const { volume, freeBytes } of disks) metrics.set('nuncio_disk_free_bytes', { volume }, freeBytes)
  metrics.set('nuncio_oldest_waiting_seconds', {}, (oldestWaitingMs ?? 0) / 1000)
  metrics.count('nuncio_watchdog_checks_total', {})
}
