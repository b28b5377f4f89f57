import { Application } from '../src/server/application.ts'
import { serveAsChild } from '../src/server/cluster/serve-as-child.ts'
import { InstantChannel } from './instant-channel.ts'

serveAsChild(
  (parts) =>
    new Application({
      ...parts,
      channels: [new InstantChannel(() => {})],
      onBroken: (error) => parts.logger.fatal({ err: error }, 'the database failed'),
    }),
)
