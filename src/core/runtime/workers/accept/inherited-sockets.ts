import type { BindAddress, BindTarget, InheritedSocket } from '../../../lib/net/bind-target.ts'

export type ListenerName = 'public' | 'admin'

/** The listening sockets that a process was started with. Null: it opens that listener itself. */
export type InheritedSockets = Readonly<Record<ListenerName, InheritedSocket | null>>

export const noInheritedSockets: InheritedSockets = { public: null, admin: null }

/** Returns the bind target of a listener. An inherited socket must have the port of the file; 0: any. */
export const resolveBindTarget = (socket: InheritedSocket | null, { host, port }: BindAddress): BindTarget =>
  socket === null ? { host, port } : { ...socket, port: port === 0 ? null : port }
