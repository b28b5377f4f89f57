import { addCopyButtons } from './copy-buttons.ts'
import { startMenu } from './menu.ts'
import { startSearch } from './search.ts'
import { startThemeSwitch } from './theme-switch.ts'

startThemeSwitch()
startMenu()
startSearch()
addCopyButtons()
