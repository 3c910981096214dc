import type { Feature } from '../../core/feature.ts'
import type { Supervisor } from '../../core/runtime/supervisor.ts'

/** `Type=notify`, the watchdog, and sockets that systemd keeps. */
export const systemd: Feature = {
  name: 'systemd',
  takeSupervisor: async () => {
    const sockets = process.env.LISTEN_FDS === undefined ? null : (await import('./listen-fds.ts')).takeListenFds()
    const createNotifier = process.env.NOTIFY_SOCKET === undefined ? null : await takeNotifier()
    return sockets === null && createNotifier === null ? null : { sockets, createNotifier }
  },
}

const takeNotifier = async (): Promise<Supervisor['createNotifier']> => {
  const [{ openNotifyChannel, takeNotifySettings }, { createServiceNotifier, describeService }] = await Promise.all([
    import('./notify-channel.ts'),
    import('./service-notifier.ts'),
  ])
  const settings = takeNotifySettings()
  if (settings === null) return null
  const { socket, watchdogMs } = settings
  const send = openNotifyChannel(socket) // while this process is small
  return (gateway, log) => createServiceNotifier({ send, watchdogMs, log, describe: () => describeService(gateway) })
}
