import type { createOnboardings } from '../../channels/registry.ts'
import type { Settings } from '../../config/read-settings.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { extraFolder } from './extra-folder.ts'
import { guardedCallOf } from './guarded-call.ts'

/** What is needed to ask the networks of channels. */
export function networkParts(settings: Settings, clock: Clock): Parameters<typeof createOnboardings>[0] {
  return {
    settings,
    clock,
    guarded: guardedCallOf(settings),
    extraFolder: (channel) => extraFolder(settings, channel),
  }
}
