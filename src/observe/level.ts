/** Lists the levels of the log, each of which writes more than the one before; the last one writes nothing. */
export const logLevels = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const
