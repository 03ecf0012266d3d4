// What a player may do in the town.
'use strict';

const { Broadcast: B, Channel } = require('ranvier');

const WAYS = { north: 'N', south: 'S', east: 'E', west: 'W', up: 'U', down: 'D' };
const COMMANDS = { emote, look, quit, who };

exports.obey = function obey(state, player, line) {
  if (!line || player.__pruned) return;
  const [word, ...rest] = line.split(' ');
  const verb = word.toLowerCase();
  const way = Object.keys(WAYS).find(one => one.startsWith(verb));
  const command = Object.keys(COMMANDS).find(one => one.startsWith(verb));
  const channel = state.ChannelManager.find(verb);
  if (way) move(state, player, way);
  else if (command) COMMANDS[command](state, player, rest.join(' '));
  else if (channel) speak(state, player, channel, rest.join(' '));
  else B.sayAt(player, 'Huh?');
  if (!player.__pruned) B.prompt(player);
};

function speak(state, player, channel, words) {
  try {
    channel.send(state, player, words);
  } catch (error) {
    if (error instanceof Channel.NoRecipientError) B.sayAt(player, 'Send the message to whom?');
    else if (error instanceof Channel.NoMessageError) channel.describeSelf(player);
    else throw error;
  }
}

function look(state, player, words = '') {
  const { room } = player;
  if (words) {
    const word = words.split(' ')[0].toLowerCase();
    const seen = [...room.items, ...room.players, ...room.npcs].find(
      one => (one.keywords || []).includes(word) || one.name.toLowerCase().includes(word));
    if (!seen) B.sayAt(player, "You don't see anything like that here.");
    else if (room.players.has(seen)) B.sayAt(player, `You see fellow player ${seen.name}.`);
    else B.sayAt(player, seen.description, 80);
    return;
  }
  const has = way => (room.getExits().some(exit => exit.direction === way) ? WAYS[way] : '-');
  B.sayAt(player, `<yellow><b>${room.title.padEnd(65)}-      ${has('north')}      -</b></yellow>`);
  B.sayAt(player, `${B.line(60)}     <yellow><b>${has('west')}</b></yellow> <---(@)---> <yellow><b>${has('east')}</b></yellow>`);
  B.sayAt(player, `${B.line(65, ' ')}<yellow><b>-      ${has('south')}      -\r\n</b></yellow>`);
  B.sayAt(player, room.description, 80);
  B.sayAt(player, '');
  for (const other of room.players) if (other !== player) B.sayAt(player, `[Player] ${other.name}`);
  for (const item of room.items) B.sayAt(player, `[<white><b>Item</b></white>] <magenta>${item.roomDesc}</magenta>`);
  for (const npc of room.npcs) B.sayAt(player, `[<green>NPC</green>] ${npc.name}`);
  B.at(player, '[<yellow><b>Exits</yellow></b>: ');
  B.at(player, room.getExits().map(exit => exit.direction).join(' ') || 'none');
  B.sayAt(player, ']');
}
exports.look = look;

function move(state, player, way) {
  const exit = player.room.getExits().find(one => one.direction === way);
  if (!exit) {
    B.sayAt(player, "You can't go that way!");
    return;
  }
  const before = player.room;
  const behind = state.RoomManager.getRoom(exit.roomId);
  player.moveTo(behind, () => look(state, player));
  B.sayAt(before, `${player.name} leaves.`);
  B.sayAtExcept(behind, `${player.name} enters.`, player);
}

function emote(state, player, words) {
  const shown = `${player.name} ${words}`.replace(/([^.?!])$/, '$1.');
  for (const other of player.room.players) {
    B.sayAt(other, other === player ? `You emote "${shown}"` : shown.replace(other.name, 'you'));
  }
}

function who(state, player) {
  B.sayAt(player, "<bold><red>                  Who's Online</red></bold>");
  B.sayAt(player, '<bold><red>===============================================</red></bold>');
  B.sayAt(player, '');
  for (const other of state.PlayerManager.players.values()) B.sayAt(player, ` *  ${other.name} `);
  B.sayAt(player, `${state.PlayerManager.players.size} total`);
}

function quit(state, player) {
  B.sayAt(player, 'Goodbye!');
  B.sayAtExcept(player.room, `${player.name} disappears.`, player);
  state.PlayerManager.removePlayer(player, true);
}
