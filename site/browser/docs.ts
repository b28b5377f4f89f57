import { addCopyButtons } from './copy-buttons.ts'
import { startMenu } from './menu.ts'
import { showOwnAddress } from './own-address.ts'
import { startSearch } from './search.ts'
import { startThemeSwitch } from './theme-switch.ts'

startThemeSwitch()
showOwnAddress()
startMenu()
startSearch()
addCopyButtons()
