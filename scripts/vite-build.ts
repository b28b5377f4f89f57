import { build, type InlineConfig } from 'vite'
import { ROOT } from './source-tree.ts'

/** A build of Vite with these settings alone: no configuration file is read, and no folder is copied beside the result. */
export function viteBuild(config: InlineConfig): ReturnType<typeof build> {
  return build({ root: ROOT, configFile: false, logLevel: 'warn', publicDir: false, ...config })
}
