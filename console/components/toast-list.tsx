import '@mantine/notifications/styles.css'
import { Notifications } from '@mantine/notifications'
import classes from './toast-list.module.css'

export function ToastList() {
  return <Notifications position="bottom-right" withinPortal={false} classNames={{ root: classes['list'] ?? '' }} />
}
