/** That nobody notices a reroute where nothing that the watch sees, or a command, tells the gateway of the edit. */
import { fileBindMounted, fileWrittenInPlace } from '../../helpers/editable-file.ts'
import { nobodyNotices } from './reroute-drill.ts'

nobodyNotices([
  ['made outside a bind mount of the file', fileBindMounted, 'watch', '{ poll: 100ms }'],
  ['told by SIGHUP', fileWrittenInPlace, 'signal', '{ watch: false }'],
  ['told by POST /reload', fileWrittenInPlace, 'request', '{ watch: false }'],
])
