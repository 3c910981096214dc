/**
 * Clients notice nothing of a reroute where a command tells the gateway of the edit, or the watch alone sees nothing of
 * it.
 */
import { fileBindMounted, fileWrittenInPlace } from '../../../helpers/editable-file.ts'
import { drillReroutes } from './reroute-drill.ts'

drillReroutes([
  ['made outside a bind mount of the file', fileBindMounted, 'watch', '{ poll: 100ms }'],
  ['reloaded by SIGHUP', fileWrittenInPlace, 'signal', '{ watch: false }'],
  ['reloaded by POST /reload', fileWrittenInPlace, 'request', '{ watch: false }'],
])
