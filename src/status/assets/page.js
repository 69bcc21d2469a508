// page.js: puts the parts of the status page together.  Each part reads the JSON pages it shows; nothing is changed.
import { startReading } from "./read.js";
import { addHealth, showAway } from "./health.js";
import { addLive } from "./live.js";
import { addForecast } from "./forecast.js";
import { addStreams } from "./streams.js";
import { addDetail } from "./detail.js";
import { addLists } from "./lists.js";

addHealth();
addLive();
addForecast();
addStreams();
addDetail();
addLists();
startReading(showAway);
