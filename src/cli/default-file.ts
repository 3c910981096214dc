/** Names the configuration file that a command uses when none is given. */
export const defaultFile = 'config/gateway.yaml'
