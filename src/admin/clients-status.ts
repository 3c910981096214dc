import type { Config } from '../config/config.ts'

/** Tells how clients prove who they are, and how many there are; null: nobody is asked. Operations that differ are in /config. */
export const clientsStatus = ({ auth, clients }: Pick<Config, 'auth' | 'clients'>) =>
  auth === null && clients.length === 0
    ? null
    : {
        methods: auth?.methods ?? [],
        count: clients.length,
        disabled: clients.filter(({ disabled }) => disabled).length,
      }
