import { mount } from 'svelte';
import '../style.css';
import './desk.css';
import Desk from './Desk.svelte';

const target = document.getElementById('page');
if (target) mount(Desk, { target });
