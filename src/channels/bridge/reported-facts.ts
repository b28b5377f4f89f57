import type { Instant } from '../../core/ids.ts'
import type { ConnectionFact } from '../../core/ports/channel-onboarding.ts'
import { minuteText } from '../../format/instants.ts'
import { hasReceipts, readBridgeSettings, type StoredSettings } from './settings.ts'

interface Reported {
  readonly settings: StoredSettings
  readonly lastReportAt: Instant | null
}

/** When the adapter last reported, so that people see whether its reports arrive. Empty if it makes no reports. */
export function reportedFacts({ settings, lastReportAt }: Reported): readonly ConnectionFact[] {
  if (!hasReceipts(readBridgeSettings(settings))) return []
  const value = lastReportAt === null ? 'none yet' : minuteText(lastReportAt)
  return [{ label: 'Last report', value, tone: 'plain' }]
}
