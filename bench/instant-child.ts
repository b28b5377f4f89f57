import { Nuncio } from '../src/app/nuncio.ts'
import { serveAsChild } from '../src/app/processes/serve-as-child.ts'
import { InstantChannel } from './instant-channel.ts'

serveAsChild(
  (parts) =>
    new Nuncio({
      ...parts,
      channels: [new InstantChannel(() => {})],
      onBroken: (error) => parts.logger.fatal({ err: error }, 'the database failed'),
    }),
)
