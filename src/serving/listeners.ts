import { fstatSync } from 'node:fs'
import type { Environment } from '../config/environment.ts'
import { type Address, type InheritedSocket, notListening, type Place } from '../shared/place.ts'

/** Names the two listeners, here and in `FileDescriptorName` of systemd. */
export type ListenerName = 'public' | 'admin'

/** The listening sockets that a process was started with; null: it opens that listener itself. */
export type Inherited = Readonly<Record<ListenerName, InheritedSocket | null>>

/** No sockets: the process was started as most are. */
export const nothingInherited: Inherited = { public: null, admin: null }

const firstFd = 3
const most = 64

/** Finds out which listening sockets systemd has started this process with (sd_listen_fds(3)). Throws when what it says cannot be. */
export const inherited = (environment: Environment, pid: number): Inherited => {
  const { LISTEN_PID: meant, LISTEN_FDS: count = '', LISTEN_FDNAMES: named } = environment
  // The process that started this one was meant, and passed its environment on.
  if (meant !== String(pid)) return nothingInherited
  if (!/^[1-9]\d?$/.test(count) || Number(count) > most)
    throw new Error(`LISTEN_FDS is '${count}', which is no number of descriptors from 1 to ${most}`)
  if (named === undefined)
    throw new Error('LISTEN_FDNAMES is missing: FileDescriptorName= in each socket unit says public or admin')
  const list = named.split(':')
  if (list.length !== Number(count))
    throw new Error(`LISTEN_FDS says ${count}, and LISTEN_FDNAMES names ${list.length}: '${named}'`)
  const found: Record<ListenerName, InheritedSocket | null> = { public: null, admin: null }
  for (const [nth, name] of list.entries()) {
    if (name !== 'public' && name !== 'admin')
      throw new Error(`LISTEN_FDNAMES names '${name}': FileDescriptorName= says public or admin`)
    if (found[name] !== null) throw new Error(`LISTEN_FDNAMES names ${name} twice: one socket each`)
    found[name] = { fd: firstFd + nth, named: `${name} of LISTEN_FDNAMES` }
  }
  return found
}

/** Finds the sockets of this process, and keeps the variables from the processes that it starts. Throws when a descriptor is no socket. */
export const takeInherited = (): Inherited => {
  const found = inherited(process.env, process.pid)
  for (const socket of [found.public, found.admin])
    if (socket !== null && !isSocket(socket.fd)) throw new Error(notListening(socket))
  for (const name of ['LISTEN_PID', 'LISTEN_FDS', 'LISTEN_FDNAMES']) delete process.env[name]
  return found
}

const isSocket = (fd: number): boolean => {
  try {
    return fstatSync(fd).isSocket()
  } catch {
    return false
  }
}

/** Decides where a listener shall be. An inherited socket must have the port of the file; 0: any. */
export const placeOf = (socket: InheritedSocket | null, { host, port }: Address): Place =>
  socket === null ? { host, port } : { ...socket, port: port === 0 ? null : port }
