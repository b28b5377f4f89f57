import { applyCommandPrefix } from '../../../src/config/command-prefix.ts'

applyCommandPrefix()
