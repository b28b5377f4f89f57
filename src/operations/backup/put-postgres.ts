import { join } from 'node:path'
import { postgresEnvironment } from '../../config/child-environment.ts'
import { openSpoolId } from '../../media/spool-id.ts'
import { restoreDump } from '../../storage/postgres/transfer/restore-dump.ts'
import { newestOf } from '../../storage/queries/migrations.ts'
import { checkFile } from './check-file.ts'
import { POSTGRES_NAME } from './manifest.ts'
import type { Put, Putting } from './restore-request.ts'

/** In one transaction of the server: renames the old schema, reads the backup, and holds its lanes. */
export async function putPostgres({ manifest, folder, request, hold, past, stamp }: Putting): Promise<Put> {
  const { database } = request.settings
  const file = manifest.files.find(({ name }) => name === POSTGRES_NAME)
  const { server } = manifest
  if (database.engine !== 'postgres' || !file || !server) throw new Error('The backup is not of PostgreSQL')
  await checkFile(folder, file, request.onProgress)
  const spool = hold.media && (await openSpoolId(hold.media.to))
  return restoreDump({
    url: database.migrateUrl,
    dump: join(folder, file.name),
    bytes: file.bytes,
    dumpedBy: server.dumpedBy,
    schema: server.schema,
    appliedMigrations: newestOf(manifest.migrations),
    replace: request.replace,
    aside: `nuncio_replaced_${stamp.replaceAll('-', '').toLowerCase()}`,
    hold,
    past,
    spool,
    childEnvironment: postgresEnvironment,
    onProgress: request.onProgress,
  })
}
