import { commandLine } from '../../core/command-line.ts'
import type { ChannelOnboarding } from '../../core/ports/channel-onboarding.ts'
import { Refusal } from '../../core/refusals.ts'
import { isInstalled } from './is-installed.ts'

/** `folder`: where the packages of the channel are installed. Refuses while they are not. */
export function createOnboarding(folder: string): ChannelOnboarding {
  if (!isInstalled(folder))
    throw new Refusal(
      'channel_not_installed',
      `The channel WhatsApp Web is not installed. Install it where Nuncio runs: ${commandLine`channel install whatsapp-web`}`,
      'channel',
    )
  return {
    // The phone proves it, when it is linked. An installation has one connection for each number.
    prove: async ({ number, settings }) => ({ networkKey: number, facts: [], settings }),
    listTemplates: async () => [],
    callbackSecretOf: () => null,
    takesCallbackSecret: async () => false,
  }
}
