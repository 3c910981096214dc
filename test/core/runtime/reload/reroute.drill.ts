/** Clients notice nothing of a reroute, whether the watch, the poll or a command tells the gateway of the edit. */
import {
  fileBindMounted,
  fileReplacedByRename,
  fileSwappedBySymlink,
  fileWrittenInPlace,
} from '../../../helpers/editable-file.ts'
import { drillReroutes } from './reroute-drill.ts'

drillReroutes([
  ['made by renaming another file over it', fileReplacedByRename, 'watch', '{ poll: none }'],
  ['made by swapping a symbolic link, as Kubernetes does', fileSwappedBySymlink, 'watch', '{ poll: none }'],
  ['made outside a bind mount of the file', fileBindMounted, 'watch', '{ poll: 100ms }'],
  ['reloaded by SIGHUP', fileWrittenInPlace, 'signal', '{ watch: false }'],
])
