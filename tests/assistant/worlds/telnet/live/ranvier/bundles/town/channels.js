'use strict';

const { Channel: { Channel }, PrivateAudience, RoomAudience, WorldAudience } = require('ranvier');

const spoken = (mine, others) => ({
  sender: (sender, target, message, colorify) => colorify(mine(message, target)),
  target: (sender, target, message, colorify) => colorify(others(message, sender)),
});

module.exports = [
  new Channel({ name: 'chat', color: ['bold', 'green'], audience: new WorldAudience() }),
  new Channel({
    name: 'say', color: ['yellow'], audience: new RoomAudience(),
    formatter: spoken(text => `You say: '${text}'`, (text, who) => `${who.name} says: '${text}'`),
  }),
  new Channel({
    name: 'tell', color: ['bold', 'cyan'], audience: new PrivateAudience(),
    formatter: spoken((text, to) => `You tell ${to.name}, '${text}'`, (text, who) => `${who.name} tells you, '${text}'`),
  }),
];
